// How models of a known build train with dropout: what an evaluation export has lost, told from what is left of it.
//
//   norm behind each residual sum              0.1   Vaswani et al. 2017 (5.4), Devlin et al. 2019 (A.2);
//                                                    nn.TransformerEncoderLayer
//   positions in the scores, no biases         0.1   Raffel et al. 2020 (3.1.1): T5, mT5
//   weights kept as [in, out]                  0.1   Conv1D of transformers: GPT, GPT-2 (resid_pdrop, attn_pdrop,
//                                                    embd_pdrop)
//   positions that begin at 2                  0.1   ports of fairseq's decoders: OPT; the residual branches alone
//   linear1, linear2, norm1, norm2 and an      0.1   nn.TransformerEncoderLayer(norm_first=True) and its decoder
//   nn.MultiheadAttention self_attn
//   tokens, attention.self, attention.output   0.1   configurations of transformers that follow BERT's, with norms
//                                                    ahead of their layers: Megatron-BERT, ESM
//   embedding_hidden_mapping_in                none  configuration_albert.py, configuration_rembert.py
//   one set of weights in every layer          none  Lan et al. 2020 (4.8): ALBERT trains better without
//   convolutions cut to causal ones            0.2   Bai et al. 2018: TCN, behind each activation
//   a pyramid of dilated convolutions          0.5   Chen et al. 2017: DeepLab, behind its projection
//   linear, relu, linear over coordinates      0.125 timm/layers/pos_embed_rel.py (RelPosMlp),
//                                              swin_transformer_v2_cr.py
//   a number missing in nn.Sequential          0.5   VGG, SqueezeNet, FCN (dropout_gaps.h); not in transformers, many
//                                                    of which have theirs with probability 0
//
// Of other builds, norms ahead of their layers above all, as many train without dropout (Llama, GPT-NeoX, ViT, CLIP) as
// with (minGPT, OPT): of those nothing is known. A mask takes the same room whatever its probability.
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_RECIPE_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_RECIPE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/assume/choices/dropout_places.h"

namespace onnx_mem {

struct DropoutRecipe {
  double probability = 0.0;
  std::string_view why;  // "as post-norm transformers (BERT, nn.TransformerEncoder) train"
  std::vector<DropoutSpot> spots = {};
  bool whole_model = false;  // what it tells goes for all of a transformer's places, not for some part
};

// `spots` as FindDropoutSpots() gives them. No spot is in two; empty if the draft is of no such build.
std::vector<DropoutRecipe> KnownDropoutRecipes(const Draft& draft, const DropoutSpots& spots);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_RECIPE_H_
