// Whose the bytes are: a category for each block that is alive, from its stack and from what became of its like.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_OWNERS_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_OWNERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/snapshot/history.h"
#include "analyzer/snapshot/stacks.h"

namespace onnx_mem {

// Order and names are those of the report; names are PyTorch's profiler's where it has one.
enum class Owner : uint8_t {
  kParameters,  // and buffers
  kGradients,
  kOptimizerState,
  kOptimizerTemporaries,
  kActivations,
  kActivationGradients,
  kInputs,
  kCopies,  // of a model
  kWorkspaces,
  kUnknown,
};
inline constexpr size_t kNumOwners = 10;
std::string_view NameOf(Owner owner);  // "parameters"

// For each block of `view.held`. What no stack tells:
// - of a backward that has ended what is alive is a gradient; of one that runs, what has the size of a parameter
// - a block that is older than the history is a parameter if a gradient or an optimizer's state has its size
// - a tensor of the program's own lines is an activation if backward has freed its like
std::vector<Owner> OwnersOf(const HistoryView& view, const std::vector<StackFacts>& facts);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_OWNERS_H_
