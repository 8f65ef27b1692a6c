#include "analyzer/memory/program.h"

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/memory/verify_program.h"

namespace onnx_mem {

std::string_view NameOf(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kLoss: return "loss";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
  }
  return "forward";
}

std::string_view NameOf(Category category) {
  static constexpr std::array<std::string_view, kNumCategories> kNames = {"parameters",
                                                                          "buffers",
                                                                          "inputs",
                                                                          "gradients",
                                                                          "optimizer_state",
                                                                          "saved_activations",
                                                                          "transient_activations",
                                                                          "activation_gradients",
                                                                          "optimizer_temporaries",
                                                                          "workspace",
                                                                          "unsharded_parameters",
                                                                          "communication"};
  return kNames[static_cast<size_t>(category)];
}

absl::Status VerifyProgram(const MemoryProgram& program) {
  int64_t total_bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    const std::string& name = buffer.name;
    if (buffer.bytes < 0) return absl::InternalError(absl::StrCat("buffer '", name, "' has a negative size"));
    if (!program.steps.contains(buffer.begin) || buffer.end <= buffer.begin ||
        buffer.end.index() > program.steps.size()) {
      return absl::InternalError(absl::StrCat("buffer '", name, "' has no valid life: [", buffer.begin.value(), ", ",
                                              buffer.end.value(), ") of ", program.steps.size(), " steps"));
    }
    std::optional<int64_t> sum = CheckedAdd(total_bytes, buffer.bytes);
    if (!sum) {
      return ErrorStatus(absl::StatusCode::kOutOfRange, Code::kTooLarge,
                         "the sizes of all buffers of a run are beyond any memory");
    }
    total_bytes = *sum;
  }
  return absl::OkStatus();
}

std::string DumpProgram(const MemoryProgram& program) {
  std::string out;
  const Timeline timeline = ComputeTimeline(program);
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    absl::StrAppend(&out, id.value(), " ", std::string(NameOf(step.phase)), " ", step.op.str(),
                    step.node.empty() ? "" : " " + step.node.str(), step.recompute ? " again" : "", " ",
                    timeline.live_bytes[id.index()], "\n");
  }
  for (const Buffer& buffer : program.buffers) {
    absl::StrAppend(&out, buffer.name.str(), " ", std::string(NameOf(buffer.category)), " ", buffer.bytes, " [",
                    buffer.begin.value(), ", ", buffer.end.value(), ")",
                    buffer.kept_by.empty() ? "" : " " + buffer.kept_by.str(), "\n");
  }
  return out;
}

}  // namespace onnx_mem
