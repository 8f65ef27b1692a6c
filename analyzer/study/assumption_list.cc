#include "analyzer/study/assumption_list.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/assume/table/assumptions.h"
#include "analyzer/assume/table/margins.h"
#include "analyzer/eager/engine/output_loss.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/parallel/schedules.h"
#include "analyzer/runtimes/runtime.h"

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
    case LossKind::kGradient: return "gradient";
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
    if (segment.moves_all()) absl::StrAppend(&call, std::string(FlagSuffixOf(segment.offload)));
    std::vector<std::string> kept = segment.keep;
    for (const KeptCall& of_call : segment.keep_calls) kept.push_back(TextOf(of_call));
    for (const KeptCall& of_call : segment.host_calls) {
      kept.push_back(absl::StrCat(TextOf(of_call), std::string(FlagSuffixOf(segment.offload))));
    }
    if (segment.host_inputs) kept.push_back(absl::StrCat("inputs", std::string(FlagSuffixOf(segment.offload))));
    if (!kept.empty()) absl::StrAppend(&call, std::string(kSegmentKeeps), absl::StrJoin(kept, ","));
    calls.push_back(std::move(call));
  }
  return absl::StrJoin(calls, "; ");
}

std::string OptimizerText(const Optimizer& optimizer) {
  return optimizer.name == "bytes" ? absl::StrCat(optimizer.bytes_per_parameter, std::string(kBytesPerParameter))
                                   : optimizer.name;
}

std::string LoraText(const std::vector<Lora>& adapters) {
  return absl::StrJoin(adapters, "; ", [](std::string* text, const Lora& lora) {
    absl::StrAppend(text, lora.rank, lora.dropout > 0.0 ? absl::StrCat(",", lora.dropout) : "", ":", lora.weights);
  });
}

std::string TorchText(const Platform& platform) { return platform.torch ? TextOf(platform.Torch()) : ""; }

std::string TiedText(TiedMode tied) { return tied == TiedMode::kAuto ? "" : tied == TiedMode::kYes ? "yes" : "no"; }

std::string UnitsText(const RankLayout& layout) { return layout.units.empty() ? "" : absl::StrCat(":", layout.units); }

std::string RanksText(const RankLayout& layout, DataParallel data) {
  return layout.data == data ? absl::StrCat(layout.ranks) : "";
}

std::string FsdpText(const RankLayout& layout) {
  const bool one_mesh = layout.data == DataParallel::kFsdp && layout.replicas == 1;
  return one_mesh ? absl::StrCat(layout.ranks, UnitsText(layout)) : "";
}

std::string HsdpText(const RankLayout& layout) {
  return layout.replicas > 1 ? absl::StrCat(layout.replicas, "x", layout.ranks, UnitsText(layout)) : "";
}

std::string TensorText(const RankLayout& layout) {
  if (!IsTensorParallel(layout)) return "";
  return absl::StrCat(layout.tensor.ranks, layout.tensor.plan.empty() ? "" : ", by a plan");
}

std::string ReshardText(const RankLayout& layout) {
  switch (layout.reshard) {
    case Reshard::kDefault: break;
    case Reshard::kYes: return "yes";
    case Reshard::kNo: return "no";
    case Reshard::kToSmallerMesh: return absl::StrCat(layout.reshard_ranks);
  }
  return "";
}

std::string TypeText(const std::optional<DType>& dtype) { return dtype ? std::string(NameOf(*dtype)) : ""; }

// The loop's variable of what the model returned, where it is a part of the step that one may want to free.
bool IsWorthSaying(const Enacted& enacted) {
  constexpr int64_t kLeast = 1 << 20, kLeastShare = 100;
  return enacted.held_output_bytes >= std::max(kLeast, enacted.end_of_forward_bytes / kLeastShare);
}
std::string HeldText(int64_t bytes) {
  return absl::StrFormat("the outputs to the end of the step: %.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Unless(std::string_view absent, std::string_view text) {
  return std::string(text == absent ? std::string_view() : text);
}

std::string DeviceText(Device device) { return device == Device::kCpu ? "cpu" : "gpu"; }

constexpr const char* kAssumed = "";  // assume/table says when: AddSettings

constexpr bool kTraining = true, kAlways = false;

constexpr ReportedOption Named(std::string_view long_name, ReportedOption option) {
  if (option.place > 0) option.name = long_name.substr(2);
  return option;
}

// By their places; those that no report lists, of place 0, come first.
constexpr auto kOptions = [] {
  auto options = std::to_array<ReportedOption>({
#define REPORTED(place, when, absent, separator, words)                                                     \
  "", place, when, absent, separator, [](const Workload& workload, const Enacted* enacted) -> std::string { \
    [[maybe_unused]] const RankLayout& layout = workload.layout;                                            \
    [[maybe_unused]] const Run& run = workload.run;                                                         \
    [[maybe_unused]] const RuntimeRow& runtime = RuntimeOf(workload);                                       \
    (void)enacted;                                                                                          \
    return words;                                                                                           \
  }
#define ONNX_MEM_OPTION(field, short_name, long_name, value, group, commands, help, setter, ...) \
  Named(long_name, {__VA_ARGS__}),
#include "include/onnx_mem/question.inc"
#undef REPORTED
  });
  std::sort(options.begin(), options.end(),
            [](const ReportedOption& a, const ReportedOption& b) { return a.place < b.place; });
  return options;
}();
constexpr auto kUnreported =
    std::count_if(kOptions.begin(), kOptions.end(), [](const ReportedOption& option) { return option.place == 0; });

using AssumptionList = std::vector<std::pair<std::string, std::string>>;

void Add(const ReportedOption& option, const Workload& workload, const Enacted* enacted, AssumptionList& list) {
  if (std::string text = option.text(workload, enacted); !text.empty()) {
    list.emplace_back(std::string(option.name), std::move(text));
  }
}

// Settings that stand for what a file does not say, and the margin for the rest; a record says it, but for what the
// card's own kernels are.
void AddSettings(const Run& run, bool recorded, const Enacted& enacted, AssumptionList& list) {
  if (recorded) list.emplace_back("recorded", "from the running model");
  for (const AssumedSetting& setting : AssumedSettings()) {
    if (recorded && (!setting.of_records || setting.value(run) == "auto")) continue;
    if (!(run.training ? setting.training : setting.inference)) continue;
    if (std::string value = setting.value(run); !value.empty()) {
      list.emplace_back(std::string(setting.option), std::move(value));
    }
  }
  if (recorded) return;
  const Margin beside = MarginBeside(ListingOf(enacted.assumptions), run.training);
  list.emplace_back("margin", MarginText(LeastReach(run.training), beside));
}

// What holds for training and inference alike.
void AddCommonAssumptions(const Workload& workload, AssumptionList& list) {
  for (const ReportedOption& option : ReportedOptions()) {
    if (!option.training_alone) Add(option, workload, nullptr, list);
  }
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
       .details = {"way out: a record of model.to(dtype)"}});
}

std::span<const ReportedOption> ReportedOptions() { return std::span(kOptions).subspan(kUnreported); }

void FillAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis) {
  const Run& run = workload.run;
  AssumptionList& list = analysis.assumptions;
  for (const ReportedOption& option : ReportedOptions()) {
    if (!option.training_alone) continue;
    const bool loss = option.name == "loss";
    if (loss && (!run.freeze.empty() || !run.lora.empty())) {
      list.emplace_back("trains", TrainedText(TrainedCount(enacted.parameters), enacted.parameter_count));
    }
    Add(option, workload, &enacted, list);
    if (loss && enacted.loss_tokens > 0) list.emplace_back("loss-over", absl::StrCat(enacted.loss_tokens, " tokens"));
    if (loss && IsWorthSaying(enacted)) list.emplace_back("holds", HeldText(enacted.held_output_bytes));
  }
  AddSettings(run, analysis.info.from_record, enacted, list);
  const auto& settled = enacted.assumptions;
  if (std::find(settled.begin(), settled.end(), kNamesBySource) != settled.end()) {
    list.emplace_back("names", "from the file's source lines");
  }
  AddCommonAssumptions(workload, list);
}

void FillInferenceAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis) {
  // A session runs the file's own operators: no framework's choices are in its figures.
  if (RuntimeOf(workload).eager) {
    Run run = workload.run;
    run.training = false;
    AddSettings(run, analysis.info.from_record, enacted, analysis.assumptions);
  }
  AddCommonAssumptions(workload, analysis.assumptions);
}

}  // namespace onnx_mem
