// What each rank of a pipeline does one after another: torch/distributed/pipelining/schedules.py.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_SCHEDULES_H_
#define ONNX_MEM_ANALYZER_PARALLEL_SCHEDULES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

struct StageAction {
  enum class Kind : uint8_t {
    kNothing,  // what changes no memory here, but takes its turn among the ranks
    kForward,
    kBackward,
    kBackwardInput,     // of a zero-bubble schedule: the part that gives the inputs' gradients
    kBackwardWeight,    // and the part that gives the parameters'
    kReceiveInput,      // the buffer is there from now on
    kReceiveGradient,   // of the outputs
    kOutputSent,        // the output is needed no longer, but for what autograd saved of it
    kInputGradientSent  // the same of the gradient of the input
  };
  Kind kind = Kind::kNothing;
  int64_t stage = 0;
  int64_t micro_batch = 0;
  friend bool operator==(const StageAction&, const StageAction&) = default;
};

std::string_view NameOf(PipelineSchedule schedule);  // "1f1b"

// Errors (usage): micro-batches that the schedule does not take, several stages per rank where it takes one.
absl::StatusOr<std::vector<StageAction>> ActionsOf(const PipelineLayout& layout, int64_t rank);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_SCHEDULES_H_
