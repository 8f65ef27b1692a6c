#include "analyzer/analysis/pass_flops.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

absl::Status SumFlops(const MemoryProgram& program, PassFigures& result) {
  constexpr int64_t kMost = int64_t{1} << 62;  // more than an hour at 10^15 a second
  int64_t total = 0;
  for (const Step& step : program.steps) {
    if (step.flops > kMost - total) {
      return ErrorStatus(
          absl::StatusCode::kInvalidArgument, Code::kTooLarge,
          absl::StrCat("with step '", step.op.str(), "' there are more operations to count than any run has"),
          {"way out: a smaller --batch, --dim or --input"});
    }
    total += step.flops;
    if (step.recompute) {
      result.recompute_flops += step.flops;
    } else if (step.phase == Phase::kBackward) {
      result.backward_flops += step.flops;
    } else {
      result.forward_flops += step.flops;
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
