// What a stack tells of a block: which part of a program made it, and on which lines.
//
//   innermost   c10::cuda::CUDACachingAllocator::malloc ...   C++, where it was recorded
//               torch/nn/functional.py:1730 linear            the framework's Python
//               model.py:41 forward                           where: the innermost line that is not the framework's
//               torch/nn/modules/module.py:1780 _call_impl    a module's call
//               train.py:31 train                             call: the user's innermost line outside all modules'
//               calls
//   outermost   train.py:80 <module>
//
// Backward runs in a thread of its own: its stacks have the engine's C++ frames, and no Python frame of the user. Where
// Python frames alone were recorded its stacks are empty.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_STACKS_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_STACKS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analyzer/snapshot/snapshot.h"

namespace onnx_mem {

enum class MadeBy : uint8_t {
  kNothingKnown,  // no stack
  kOwnCode,       // a line outside of modules
  kData,          // a copy to the device, a loader
  kModules,       // a module's call
  kConstructor,   // a module's constructor, a move of a module, loaded weights
  kBackward,
  kOptimizer,
  kWorkspace,  // a library's scratch memory
};

inline constexpr FrameId kNoFrame = std::numeric_limits<FrameId>::max();

struct StackFacts {
  MadeBy made_by = MadeBy::kNothingKnown;
  bool copied = false;      // by copy.deepcopy
  bool state = false;       // where optimizers make their state
  FrameId call = kNoFrame;  // as above
  FrameId where = kNoFrame;
  std::vector<FrameId> outside;  // Python lines outside all modules' calls, outermost first
};

// One for each stack of the snapshot.
std::vector<StackFacts> FactsOfStacks(const AllocatorSnapshot& snapshot);

// "train.py:31"; "" for no frame.
std::string LineText(const AllocatorSnapshot& snapshot, FrameId frame);
std::string FunctionText(const AllocatorSnapshot& snapshot, FrameId frame);  // "train"

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_STACKS_H_
