// Which operators write their result into their input. ONNX has no mark for it, so this is assumed.
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_INPLACE_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_INPLACE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

// Sets "inplace" = 1 where Run.inplace says so and it is legal: the overwritten tensor has no other reader, is no
// input or output of the graph, and nobody needs it in backward. Gives how many operators became in-place without a
// source line that says so.
//   auto   what the source lines say, where the file has them; else what model zoos write: ReLU right after
//          convolution, BatchNorm, sum or linear; LeakyReLU as a module of its own there; `out += identity` before a
//          ReLU; in inference also the other activations after BatchNorm
//   norms  as auto, and BatchNorm together with the activation that alone reads it, as inplace_abn does
//   all    as auto, and every other activation and dropout that may legally: LeakyReLU and ELU wherever they stand,
//          functions too; SiLU and its like, which save a copy of what they write over
//   none   nothing
//   REGEX  every operator that can, by node name or module path. Error: InvalidArgument (usage) for a bad pattern.
absl::StatusOr<int64_t> MarkInPlace(Draft& draft, const Run& run);

// Of the activations that `all` adds those that keep less for backward then: what auto takes to make a new tensor and
// may as well not.
NodeIds PossiblyInPlace(const Draft& draft);

// Sets "inplace" = 1 on every activation and sum of a lowered graph that can write in place and of which no source line
// tells that it does not: the least memory that an inference may need.
int64_t MarkAllInPlace(FrameworkGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_INPLACE_H_
