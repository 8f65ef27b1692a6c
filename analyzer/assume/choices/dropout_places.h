// Where models drop: the places at which an evaluation export may have lost a Dropout. Transformers show theirs by
// their structure. Other models do not, and an export of one without dropouts looks the same: their places are those at
// which such models have one if they have any, in front of the last layer (SqueezeNet, FCN), between linear layers
// (AlexNet, VGG, DeepFM) and behind the activations of convolutions over a sequence that no norm follows (TCN).
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_PLACES_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_PLACES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// What a dropout behind a node saves: nothing but the seed of a fused attention kernel, the mask alone, or the mask and
// the dropped result, where the next operator saves the result beside the one that its maker saves.
enum class DropoutPlace { kKernel, kMask, kMaskAndResult };

struct DropoutSpot {
  NodeId node;  // whose first output is dropped
  DropoutPlace place = DropoutPlace::kMask;
  bool attention = false;  // the node makes attention weights, or is a fused attention
};

struct DropoutSpots {
  std::vector<DropoutSpot> common;    // in running order
  std::vector<DropoutSpot> possible;  // behind other activations of layers
  int64_t attentions = 0;             // of those, attention weights
  int64_t common_bytes = 0;           // that dropouts at the common places save, about
  int64_t most_bytes = 0;             // with those at the possible places as well
};

// `outputs`: the graph's, resolved.
DropoutSpots FindDropoutSpots(const Draft& draft, const TensorIds& outputs);

// Behind the nodes whose name or module's path `pattern` (ECMAScript, anywhere in it) matches, where the result leaves
// the module that matched. InvalidArgument "usage" if it is no regular expression.
absl::StatusOr<std::vector<DropoutSpot>> DropoutSpotsBehind(const Draft& draft, const std::string& pattern);

// Bytes that dropouts there save, about.
int64_t DropoutBytes(const Draft& draft, const std::vector<DropoutSpot>& spots);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_PLACES_H_
