// What shows that an output projection shares the weight of the token embedding, where an export has stored the two
// apart. Builds whose authors share them, known by what stands around the projection:
//
//   norm of an activated linear      the head of a masked language model: BERT, RoBERTa, ALBERT, MPNet, RoFormer
//                                    (Devlin et al. 2019; transform, activation, norm, then the embedding's rows)
//   named wte, wpe and lm_head       GPT-2, and nanoGPT after it
//
// None is a proof; whoever counts on one says so. The size of a vocabulary tells nothing: Llama and Qwen of 128,000 and
// 152,000 tokens keep their head apart in the larger models and share it in the smaller.
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_TIED_HEAD_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_TIED_HEAD_H_

#include <string_view>

#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// Why the linear `head` is taken to share the embedding's weight, for a report: "as a masked language model's head
// does"; "" if nothing shows it. `head` reads a stored [width, vocabulary], the transpose of the embedding's `table`.
std::string_view WhyTied(const Draft& draft, NodeId head, TensorId table);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_TIED_HEAD_H_
