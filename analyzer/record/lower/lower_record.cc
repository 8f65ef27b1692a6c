#include "analyzer/record/lower/lower_record.h"

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

// Which variant of the record a run takes. Adapters stand beside layers, and in a record under autocast casts stand
// between a layer and its weight: then the float32 one is taken, and autocast enacted.
std::string PrecisionOf(const Run& run) {
  if (run.autocast && !run.lora.empty()) return "";
  const std::optional<DType>& wanted = run.autocast ? run.autocast : run.dtype;
  if (!wanted || !IsHalf(*wanted)) return "";
  return absl::StrCat(run.autocast ? "amp-" : "", *wanted == DType::kBFloat16 ? "bf16" : "fp16");
}

}  // namespace

absl::StatusOr<Lowered> LowerRecord(const BoundRecord& bound, const Run& run) {
  const record::Record& r = *bound.record;
  if (r.later_call) {
    return ErrorStatus(absl::StatusCode::kUnimplemented, Code::kRecordSettles,
                       "a recorded step of a training loop is taken as it ran: nothing in it is changed or planned",
                       {"in Python: onnx_mem.export(model, x, \"model.onnx\") records a model, which has plans"});
  }
  const auto program_of = [&](std::string_view precision, int64_t batch) -> const record::Program* {
    for (const record::Variant& variant : r.variants) {
      const std::optional<record::Program>& program = run.training ? variant.train : variant.eval;
      if (variant.precision == precision && variant.batch == batch && program) return &*program;
    }
    return nullptr;
  };
  const std::string precision = PrecisionOf(run);
  const record::Program* own = precision.empty() ? nullptr : program_of(precision, 0);
  if (own != nullptr) {
    const record::Program* alone = program_of(precision, bound.place.batch);
    Run as_recorded = run;
    as_recorded.dtype.reset();
    as_recorded.autocast.reset();
    absl::StatusOr<Lowered> lowered = record::LowerLines(alone != nullptr ? *alone : *own, bound.place, as_recorded);
    if (lowered.ok()) lowered->has_own_casts = true;
    return lowered;
  }
  const record::Program* alone = program_of("", bound.place.batch);
  if (alone != nullptr) return record::LowerLines(*alone, bound.place, run);
  // Tables of the other mode are none of this one's: a module may drop them as it changes mode, and need not have been
  // in it.
  const std::optional<record::Program>& wanted = run.training ? r.train : r.eval;
  const std::optional<record::Program>& other = run.training ? r.eval : r.train;
  return record::LowerLines(wanted ? *wanted : *other, bound.place, run);
}

}  // namespace onnx_mem
