// Which parts of one model are which parts of another: layers, nodes, operator calls. A comparison subtracts what is
// matched and calls the rest new or gone.
//
//   base   conv1  bn1  /Relu_1  fc          conv1 ~ conv1, /Relu_1 ~ /Relu_2 (as the exporter numbered it), fc ~ fc
//   head   conv1  /Cast  /Relu_2  fc        bn1 is gone, /Cast is new
//
// Three passes, the most trusted first: equal paths; equal names; then, among what is left between the parts that were
// matched, the longest common subsequence of kinds (the alignment of diff, anchored as in "patience" diff).
#ifndef ONNX_MEM_ANALYZER_COMPARE_MATCH_H_
#define ONNX_MEM_ANALYZER_COMPARE_MATCH_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace onnx_mem {

struct MatchUnit {
  std::string path;  // says by itself what it is: "layer1.0.conv1"; "" where there is none
  std::string name;  // may have been numbered by the exporter: "/Add_3"; matches only a unit of its own kind
  std::string kind;  // what it does: "relu"; "" matches nothing
};

struct MatchedPair {
  size_t base = 0;
  size_t head = 0;
  friend bool operator==(const MatchedPair&, const MatchedPair&) = default;
};

// Pairs in the order of `base`; each unit is in one pair at most. Several units of one path or name are matched in
// order. Swapping the arguments swaps the pairs. About n log n where names tell; quadratic in what they leave, up to a
// bound beyond which kinds are matched in order.
std::vector<MatchedPair> MatchUnits(absl::Span<const MatchUnit> base, absl::Span<const MatchUnit> head);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_COMPARE_MATCH_H_
