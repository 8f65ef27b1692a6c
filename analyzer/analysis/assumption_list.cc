#include "analyzer/analysis/assumption_list.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/assume/table/assumptions.h"
#include "analyzer/assume/table/margins.h"
#include "analyzer/eager/engine/output_loss.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {
namespace {

std::string NameOf(LossKind loss) {
  switch (loss) {
    case LossKind::kAuto: return "auto";
    case LossKind::kSum: return "sum";
    case LossKind::kMean: return "mean";
    case LossKind::kCrossEntropy: return "cross-entropy";
    case LossKind::kMse: return "mse";
    case LossKind::kNone: return "none";
    case LossKind::kOwn: return "the model's own";
  }
  return "none";
}

struct Unit {
  double size;
  const char* name;
};

// "0.2 of 44.6 M parameters"; "12.3 K of 44.6 M parameters" where it is less than a tenth of the unit.
std::string TrainedText(int64_t trained, int64_t all) {
  constexpr std::array<Unit, 4> kUnits = {{{1e9, " G"}, {1e6, " M"}, {1e3, " K"}, {1, ""}}};
  const auto unit_of = [&](int64_t count) {
    return std::find_if(kUnits.begin(), kUnits.end() - 1,
                        [&](const Unit& u) { return static_cast<double>(count) >= u.size; });
  };
  const auto text = [](int64_t count, const Unit& unit) {
    return unit.size > 1 ? absl::StrFormat("%.1f", static_cast<double>(count) / unit.size) : absl::StrCat(count);
  };
  const Unit& whole = *unit_of(all);
  const bool alike = trained == 0 || static_cast<double>(trained) >= whole.size / 10;
  const Unit& part = alike ? whole : *unit_of(trained);
  return absl::StrFormat("%s%s of %s%s parameters", trained == 0 ? "0" : text(trained, part), alike ? "" : part.name,
                         text(all, whole), whole.name);
}

int64_t TrainedCount(const std::vector<Parameter>& parameters) {
  int64_t count = 0;
  for (const Parameter& p : parameters) count += p.trainable ? NumElements(Shape(p.dims)).value_or(0) : 0;
  return count;
}

// Segments as --segment takes them, calls apart by "; "; nodes and what selective checkpointing keeps have no option.
std::string SegmentsText(const std::vector<Segment>& segments) {
  std::vector<std::string> calls;
  for (const Segment& segment : segments) {
    std::string call = absl::StrJoin(segment.modules.empty() ? segment.nodes : segment.modules, ",");
    absl::StrAppend(&call, std::string(FlagSuffixOf(segment.offload)));
    if (!segment.keep.empty()) absl::StrAppend(&call, " keeping ", absl::StrJoin(segment.keep, ","));
    calls.push_back(std::move(call));
  }
  return absl::StrJoin(calls, "; ");
}

void AddIf(bool given, std::string name, std::string value, std::vector<std::pair<std::string, std::string>>& list) {
  if (given) list.emplace_back(std::move(name), std::move(value));
}

// Settings that stand for what a file does not say; a record says it, but for what the card's own kernels are.
void AddSettings(const Run& run, bool recorded, std::vector<std::pair<std::string, std::string>>& list) {
  if (recorded) list.emplace_back("recorded", "from the running model");
  for (const AssumedSetting& setting : AssumedSettings()) {
    if (recorded && (!setting.of_records || setting.value(run) == "auto")) continue;
    if (!(run.training ? setting.training : setting.inference)) continue;
    if (std::string value = setting.value(run); !value.empty()) {
      list.emplace_back(std::string(setting.option), std::move(value));
    }
  }
}

// What holds for training and inference alike.
void AddCommonAssumptions(const Workload& workload, std::vector<std::pair<std::string, std::string>>& list) {
  const Run& run = workload.run;
  list.emplace_back("dtype", run.dtype ? std::string(onnx_mem::NameOf(*run.dtype)) : "file");
  list.emplace_back("amp", run.autocast ? std::string(onnx_mem::NameOf(*run.autocast)) : "none");
  if (RunsSessions(workload.allocator)) {
    list.emplace_back("for", "onnxruntime");
    list.emplace_back("device", workload.device == Device::kCpu ? "cpu" : "gpu");
    AddIf(workload.sessions != 1, "sessions", absl::StrCat(workload.sessions), list);
  }
  list.emplace_back("allocator", workload.allocator);
  AddIf(workload.platform.torch.has_value(), "torch", TextOf(workload.platform.Torch()), list);
  AddIf(workload.platform.cudnn_benchmark, "cudnn-benchmark", "on", list);
  AddIf(run.tied != TiedMode::kAuto, "tied", run.tied == TiedMode::kYes ? "yes" : "no", list);
  AddIf(!run.hold.empty(), "hold", absl::StrJoin(run.hold, ","), list);
  AddIf(!run.disabled_rewrites.empty(), "no-rewrite", absl::StrJoin(run.disabled_rewrites, ","), list);
}

}  // namespace

void WarnIfNothingIsTrained(const Run& run, const Enacted& enacted, std::vector<Diagnostic>& diagnostics) {
  const bool any = TrainedCount(enacted.parameters) > 0 || enacted.parameter_count == 0;
  if (run.freeze.empty() || any) return;
  Diagnostic warning{.code = Code::kNothingTrained, .severity = Severity::kWarning};
  warning.message = "--freeze matches every parameter: the step trains nothing";
  warning.details = {"why: a pattern freezes what it matches; what is trained must not match",
                     "try: onnx-mem MODEL --by tensor -n 0   # lists the names"};
  diagnostics.push_back(std::move(warning));
}

void NoteIdleOptions(const Run& run, std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> idle;
  if (run.dropout) idle.emplace_back("--dropout");
  if (run.inplace != "auto") idle.emplace_back("--inplace");
  if (run.tied != TiedMode::kAuto) idle.emplace_back("--tied");
  if (run.batch_norm != BatchNormMode::kAuto) idle.emplace_back("--bn");
  if (!run.disabled_rewrites.empty()) idle.emplace_back("--no-rewrite");
  if (!idle.empty()) {
    diagnostics.push_back({.code = Code::kRecordSettles,
                           .severity = Severity::kNote,
                           .count = static_cast<int64_t>(idle.size()),
                           .message = absl::StrCat(absl::StrJoin(idle, ", "), idle.size() == 1 ? " changes" : " change",
                                                   " nothing: the model's record says what ran")});
  }
  if (!run.dtype) return;
  diagnostics.push_back(
      {.code = Code::kRecordDtype,
       .severity = Severity::kWarning,
       .message = absl::StrCat("the model was recorded as it is, not in ", std::string(onnx_mem::NameOf(*run.dtype)),
                               ": casts in its code that do nothing there are not counted"),
       .details = {"try: a record of model.to(dtype)"}});
}

void FillAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis) {
  const Run& run = workload.run;
  auto& list = analysis.assumptions;
  list.emplace_back("optimizer", workload.optimizer.name == "bytes"
                                     ? absl::StrCat(workload.optimizer.bytes_per_parameter, " bytes per parameter")
                                     : workload.optimizer.name);
  if (workload.optimizer.implementation != OptimizerImplementation::kForeach) {
    list.emplace_back("optimizer-impl", std::string(NameOf(workload.optimizer.implementation)));
  }
  if (workload.optimizer.weight_decay) list.emplace_back("weight-decay", "added to the gradients");
  if (run.accumulate > 1) list.emplace_back("accumulate", absl::StrCat(run.accumulate));
  if (!run.freeze.empty() || !run.lora.empty()) {
    list.emplace_back("trains", TrainedText(TrainedCount(enacted.parameters), enacted.parameter_count));
  }
  list.emplace_back("loss", NameOf(enacted.loss));
  AddIf(enacted.loss_tokens > 0, "loss-over", absl::StrCat(enacted.loss_tokens, " tokens"), list);
  AddIf(!run.freeze.empty(), "freeze", absl::StrJoin(run.freeze, "|"), list);
  AddIf(!run.lora.empty(), "lora",
        absl::StrJoin(run.lora, "; ",
                      [](std::string* text, const Lora& lora) {
                        absl::StrAppend(text, lora.rank, lora.dropout > 0.0 ? absl::StrCat(",", lora.dropout) : "", ":",
                                        lora.weights);
                      }),
        list);
  AddIf(run.base_bits != BaseBits::kAsStored, "base-bits", std::string(NameOf(run.base_bits)), list);
  AddIf(!run.requires_grad.empty(), "requires-grad", absl::StrJoin(run.requires_grad, ","), list);
  AddIf(!run.checkpointed.empty(), "checkpointed", absl::StrJoin(run.checkpointed, "|"), list);
  AddIf(!run.segments.empty(), "segment", SegmentsText(run.segments), list);
  AddSettings(run, analysis.info.from_record, list);
  AddIf(!analysis.info.from_record, "margin", MarginText(ListsTensors(enacted.assumptions), /*training=*/true), list);
  const auto& settled = enacted.assumptions;
  if (std::find(settled.begin(), settled.end(), kNamesBySource) != settled.end()) {
    list.emplace_back("names", "from the file's source lines");
  }
  AddCommonAssumptions(workload, list);
}

void FillInferenceAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis) {
  auto& list = analysis.assumptions;
  // A session runs the file's own operators: no framework's choices are in its figures.
  if (!RunsSessions(workload.allocator)) {
    Run run = workload.run;
    run.training = false;
    AddSettings(run, analysis.info.from_record, list);
    AddIf(!analysis.info.from_record, "margin", MarginText(ListsTensors(enacted.assumptions), /*training=*/false),
          list);
  }
  AddCommonAssumptions(workload, list);
}

}  // namespace onnx_mem
