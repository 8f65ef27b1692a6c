// Where models of a known build have dropouts: an evaluation export has lost them, and the build is known by the rest.
// The source file has one row for each build, with the source of what it says.
//
// Of other builds, above all those with norms ahead of their layers, as many train without dropout (Llama, GPT-NeoX,
// ViT, CLIP) as with (minGPT, OPT), so nothing is assumed for them. A mask takes the same bytes whatever its
// probability.
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_RECIPE_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_RECIPE_H_

#include <string_view>
#include <vector>

#include "analyzer/assume/choices/dropout_places.h"

namespace onnx_mem {

struct DropoutRecipe {
  double probability = 0.0;
  std::string_view why;  // "as post-norm transformers (BERT, nn.TransformerEncoder) train"
  std::vector<DropoutSpot> spots = {};
  bool whole_model = false;  // what it tells holds for all of a transformer's places, not for some part
};

// `spots` as FindDropoutSpots() gives them. No spot is in two; empty if the draft is of no such build.
std::vector<DropoutRecipe> KnownDropoutRecipes(const Draft& draft, const DropoutSpots& spots);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_RECIPE_H_
