#include "analyzer/analysis/recorded_step.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/record/lower/lower_record.h"

namespace onnx_mem {
namespace {

absl::Status BadRecord(const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadRecord, what);
}

std::optional<Category> CategoryOf(std::string_view name) {
  for (size_t i = 0; i < kNumCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (NameOf(category) == name) return category;
  }
  return std::nullopt;
}

std::optional<Phase> PhaseOf(std::string_view name) {
  for (const Phase phase : {Phase::kForward, Phase::kLoss, Phase::kBackward, Phase::kOptimizer}) {
    if (NameOf(phase) == name) return phase;
  }
  return std::nullopt;
}

absl::StatusOr<MemoryProgram> ProgramOf(const record::CountedStep& step, const record::Place& place) {
  MemoryProgram program;
  program.steps.reserve(step.operators.size());
  for (const record::CountedStep::Operator& op : step.operators) {
    const std::optional<Phase> phase = PhaseOf(op.phase);
    if (!phase) return BadRecord(absl::StrCat("a recorded step has no phase '", op.phase, "'"));
    Step made;
    made.op = op.name;
    made.module = op.module;
    made.phase = *phase;
    program.steps.Add(std::move(made));
  }
  program.buffers.reserve(step.storages.size());
  for (const record::CountedStep::Storage& storage : step.storages) {
    const std::optional<Category> category = CategoryOf(storage.category);
    if (!category) return BadRecord(absl::StrCat("there is no category '", storage.category, "'"));
    const std::optional<int64_t> bytes = record::At(storage.bytes, place);
    if (!bytes || *bytes < 0) {
      return BadRecord(absl::StrCat("'", record::ToText(storage.bytes), "' is no size at batch ", place.batch));
    }
    program.buffers.Add({.name = storage.name,
                         .category = *category,
                         .bytes = *bytes,
                         .begin = StepId(storage.begin),
                         .end = StepId(storage.end),
                         .kept_by = {},
                         .dims = {},
                         .module = storage.module,
                         .on_cpu = storage.on_cpu});
  }
  RETURN_IF_ERROR(VerifyProgram(program));
  return program;
}

}  // namespace

bool IsRecordedStep(const Graph& graph) {
  return graph.record != nullptr && graph.record->record->later_call.has_value();
}

absl::Status CheckRecordedStep(const Workload& workload) {
  const std::string records_model = "in Python: export(model, x, \"model.onnx\") records a model for all questions";
  const auto refused = [](const std::string& why, std::vector<std::string> details) {
    return ErrorStatus(absl::StatusCode::kUnimplemented, Code::kRecordSettles,
                       absl::StrCat("the record is of a whole training step, ", why), std::move(details));
  };
  if (IsSpread(workload.layout)) return refused("which is of one card", {records_model});
  if (workload.mode == Mode::kInference) return refused("without inference", {"try: ... --mode train", records_model});
  Run as_recorded;
  as_recorded.training = workload.run.training;
  as_recorded.fewer_key_heads = workload.run.fewer_key_heads;  // of the version, which is no option of the step
  if (workload.run == as_recorded && workload.optimizer == Optimizer()) return absl::OkStatus();
  return refused("which no option changes",
                 {"why: its optimizer, loss and precision are in its own code",
                  "in Python: record the changed step: export(step=step, ...)", records_model});
}

absl::StatusOr<Enacted> EnactRecordedStep(const Graph& graph) {
  const record::Record& record = *graph.record->record;
  Enacted result;
  ASSIGN_OR_RETURN(result.program, ProgramOf(*record.later_call, graph.record->place));
  result.parameter_count = record.later_call->parameters;
  for (const Buffer& buffer : result.program.buffers) {
    if (buffer.category == Category::kParameters) result.parameter_bytes += buffer.bytes;
    if (buffer.category == Category::kBuffers) result.buffer_bytes += buffer.bytes;
  }
  return result;
}

absl::StatusOr<MemoryProgram> FirstCallOf(const Graph& graph) {
  return ProgramOf(*graph.record->record->first_call, graph.record->place);
}

}  // namespace onnx_mem
