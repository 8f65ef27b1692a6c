// The result that answers every question: which buffers are alive at which step, what they are, and who holds
// them. Written by analyzer/analysis (enact.h: the framework re-enacted) and by memory/liveness (a runtime that plans
// ahead); read by timeline, allocators, planner and report, which know neither ONNX nor PyTorch.
//
//   step      0 conv1      1 relu       2 relu'      3 conv1'
//   param w   |=========================================|   [0, 4)  parameters
//   y         |============|                                [0, 1)  transient_activations
//   z                      |============|                   [1, 3)  saved_activations, kept by relu and conv2
//   dy                                  |=============|     [2, 4)  activation_gradients
//
// A step is one operator that the framework dispatched. A buffer lives over the half-open range [begin, end): it is
// allocated when step `begin` runs and gone before step `end` runs. All that a step allocates is alive together.
#ifndef ONNX_MEM_ANALYZER_MEMORY_PROGRAM_H_
#define ONNX_MEM_ANALYZER_MEMORY_PROGRAM_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/dtype.h"
#include "analyzer/graph/ids.h"
#include "analyzer/graph/op_name.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/shared_text.h"

namespace onnx_mem {

using StepId = Id<struct StepTag>;
using BufferId = Id<struct BufferTag>;

enum class Phase : uint8_t { kForward, kLoss, kBackward, kOptimizer };
std::string_view NameOf(Phase phase);  // "forward", ...

// What a buffer is. Order and names are those of the report and the JSON contract.
enum class Category : uint8_t {
  kParameters,
  kBuffers,
  kInputs,
  kGradients,
  kOptimizerState,
  kSavedActivations,
  kTransientActivations,
  kActivationGradients,
  kOptimizerTemporaries,
  kWorkspace,
  // Of steps that are spread over several cards alone (analyzer/parallel).
  kUnshardedParameters,
  kCommunication,
};
inline constexpr size_t kNumCategories = 12;
constexpr bool IsOfLayout(Category category) { return category > Category::kWorkspace; }
std::string_view NameOf(Category category);  // "parameters", ...
using BytesByCategory = std::array<int64_t, kNumCategories>;

struct Step {
  OpName op;          // framework operator: "convolution", "addmm"
  SharedText node;    // node of the ONNX file that it comes from, or ""
  SharedText module;  // module path, "" for the root
  Phase phase = Phase::kForward;
  bool recompute = false;         // a second run under checkpointing
  int64_t flops = 0;              // multiply-add counts 2
  int64_t moved_bytes = 0;        // bytes read and written, for the roofline
  DType dtype = DType::kUnknown;  // element type of its first floating result: the rate at which it computes
  bool tf32 = false;              // float32 work that the framework lets run as TF32 unless set otherwise
  int64_t link_bytes = 0;         // that the step begins to move between device and host, beside what runs
  StepId waits_for = {};          // valid: the step whose move must have ended
  // Operator calls of checkpointed segments that keep some, which end here: each is seen by Python code of the segment
  // in its first run, and again in its second.
  int32_t first_mode_calls = 0;
  int32_t second_mode_calls = 0;
  // The most that a library's kernels may ask of the allocator while it runs (eager/engine/workspace.h): those that it
  // chooses, and all that it tries before it knows the fastest.
  int64_t chosen_workspace_bytes = 0;
  int64_t tried_workspace_bytes = 0;
  // Tensors that its kernel makes on a card for its own run, a block each: in no storage that the framework sees.
  std::vector<int64_t> kernel_takes;
  friend bool operator==(const Step&, const Step&) = default;
};

struct Buffer {
  SharedText name;  // tensor of the file where there is one, else what it is ("grad of x")
  Category category = Category::kTransientActivations;
  int64_t bytes = 0;
  StepId begin;
  StepId end;          // one past the last step at which it is alive
  SharedText kept_by;  // who holds it longest: "saved by conv2 for its weight gradient"; "" for ordinary use
  Dims dims;
  DType dtype = DType::kUnknown;
  SharedText module;     // of the node that made it
  bool assumed = false;  // made by an operator without a rule
  bool on_cpu = false;   // counted with the rest, but none of the device's allocator
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// Whether the device's allocator has a block for it.
inline bool HasBlock(const Buffer& buffer) { return buffer.bytes > 0 && !buffer.on_cpu; }

struct MemoryProgram {
  IdVector<StepId, Step> steps;
  IdVector<BufferId, Buffer> buffers;  // in order of allocation
  friend bool operator==(const MemoryProgram&, const MemoryProgram&) = default;
};

// One line per step with the bytes alive, then one per buffer, for tests.
std::string DumpProgram(const MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_MEMORY_PROGRAM_H_
