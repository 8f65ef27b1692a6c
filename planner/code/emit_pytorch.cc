#include "planner/code/emit_pytorch.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "applied_code.h"
#include "planner/code/keep_table.h"
#include "planner/code/name_patterns.h"
#include "planner/code/pipeline_setup.h"
#include "planner/code/python_text.h"
#include "planner/code/rank_setup.h"
#include "planner/code/wrapping.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kUsage = R"py(#
#     import plan
#     plan.apply_plan(model)        # once, before the first step; plan.restore(model) takes it off
#
# Parameters, buffers and their names stay as they are.
)py";

constexpr std::string_view kImport = R"py(#
#     plan.apply_plan(model)        # once, before the first step; onnx_mem.restore(model) takes it off
import onnx_mem

)py";

constexpr std::string_view kUsageOfRank = R"py(#
#     import plan
#     model, optimizer = plan.set_up(model, torch.optim.Adam, lr=1e-3)    # once, on each rank
#
)py";

constexpr std::string_view kImportOfRank = R"py(#
#     model, optimizer = set_up(model, torch.optim.Adam, lr=1e-3)    # once, on each rank
import onnx_mem

)py";

constexpr std::string_view kApplyImported = R"py(def apply_plan(model):
    return onnx_mem.checkpoint(model, {"segments": PLAN, "export_wrapper": EXPORT_WRAPPER, "settings": SETTINGS})
)py";

constexpr std::string_view kApplyPlan = R"py(def apply_plan(model):
    """Wraps the plan's modules in place and returns the model."""
    return apply(model, PLAN, EXPORT_WRAPPER, SETTINGS)


)py";

void Append(std::string& text, std::string_view part) { text.append(part.data(), part.size()); }

std::string DictOf(const Settings& settings) {
  return absl::StrCat("{",
                      absl::StrJoin(settings, ", ",
                                    [](std::string* out, const auto& setting) {
                                      absl::StrAppend(out, Quoted(setting.first), ": ", Quoted(setting.second));
                                    }),
                      "}");
}

// Text of the file or the user in a comment: one line.
std::string Comment(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

std::string Thousands(int64_t value) {
  std::string digits = absl::StrCat(value);
  for (size_t at = digits.size(); at > (value < 0 ? 4U : 3U);) digits.insert(at -= 3, ",");
  return digits;
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string MadeForText(const ModelInfo& info, const MadeFor& made_for) {
  const bool live = made_for.budget_line == BudgetLine::kLive;
  return absl::StrCat("# Made for ",
                      made_for.budget_bytes ? absl::StrCat("a budget of ", Thousands(*made_for.budget_bytes), " bytes ",
                                                           live ? "alive" : "on the device", ", ")
                                            : "",
                      "optimizer ", made_for.optimizer,
                      info.producer.empty() ? "" : absl::StrCat(", a model of ", Comment(info.producer)), ".\n");
}

std::string_view UsageOf(CodeForm form, const std::optional<SpreadPlan>& spread) {
  if (spread && IsPipeline(spread->layout)) return PipelineUsage(form == CodeForm::kImports);
  if (form == CodeForm::kAlone) return spread ? kUsageOfRank : kUsage;
  return spread ? kImportOfRank : kImport;
}

std::string SpreadText(const MadeFor& made_for) {
  if (!made_for.spread) return "";
  return absl::StrCat("# Spread as --", Comment(TextOf(made_for.spread->layout)), ": bytes are those of ",
                      made_for.spread->whose, ".\n");
}

std::string Header(const ModelInfo& info, const Measured& baseline, const ModulePlan& plan, const MadeFor& made_for) {
  std::string bound;
  for (const auto& [name, value] : info.bound_dims) absl::StrAppend(&bound, ", ", name, " = ", value);
  return absl::StrCat("# Checkpoint plan of onnx-mem for ", Comment(FileName(info.path)), Comment(bound), ": ",
                      Comment(plan.label), "\n",
                      absl::StrFormat("# Predicted peak of a training step: %s bytes; without the plan %s bytes.\n",
                                      Thousands(plan.measured.peak_bytes), Thousands(baseline.peak_bytes)),
                      plan.measured.host_bytes == 0
                          ? ""
                          : absl::StrFormat("# On the host: %s bytes.\n", Thousands(plan.measured.host_bytes)),
                      absl::StrFormat("# Computed twice: %s FLOPs, %.1f %% of the step's; estimated %.1f %% more time "
                                      "on %s.\n",
                                      Thousands(plan.measured.recompute_flops), 100 * plan.measured.flops_slowdown,
                                      100 * plan.measured.time_slowdown, made_for.card),
                      MadeForText(info, made_for), SpreadText(made_for),
                      plan.settings.empty()
                          ? ""
                          : absl::StrFormat("# Run it with %s in the environment: the plan was measured with\n"
                                            "# that setting of PyTorch's allocator. apply_plan warns where it is "
                                            "missing.\n",
                                            TextOf(plan.settings)));
}

// Numbers of parameters of the segment's modules, as the framework counts them; empty where a name does not tell whose
// a parameter is. The code holds the user's model against them.
std::vector<int64_t> ParametersOf(const Lowered& lowered, const ModuleNodes& modules, const Segment& segment) {
  std::vector<int64_t> counts;
  for (const std::string& module : segment.modules) {
    const auto ranges = RangesOf(lowered.graph, modules, {.modules = {module}, .nodes = {}});
    if (!ranges.ok()) return {};
    std::set<TensorId> own;
    for (const eager::NodeRange& range : *ranges) {
      for (int32_t i = range.first; i <= range.last; ++i) {
        for (TensorId id : lowered.graph.nodes[NodeId(i)].inputs) {
          if (!id.valid() || lowered.kinds[id] != TensorKind::kParameter) continue;
          if (!lowered.graph.tensors[id].name.starts_with(module + ".")) return {};
          own.insert(id);
        }
      }
    }
    int64_t count = 0;
    for (TensorId id : own) count += NumElements(lowered.graph.tensors[id].shape).value_or(0);
    counts.push_back(count);
  }
  return counts;
}

// One entry of PLAN.
struct Entry {
  std::vector<std::string> modules;
  std::string settings;  // the rest of its dict
  int64_t frees_bytes = 0;
  int calls = 1;
};

std::string KeepText(const Segment& segment) {
  if (segment.by_call()) return absl::StrCat(", \"keep\": ", KeepOf(segment));
  return segment.keep.empty() ? "" : absl::StrCat(", \"keep\": ", QuotedList(segment.keep));
}

// As a Python list: [0, *[7087872] * 4].
std::string CountsText(const std::vector<int64_t>& counts) {
  constexpr int64_t kSame = 3;
  std::vector<std::string> parts;
  for (auto at = counts.begin(); at != counts.end();) {
    const auto end = std::find_if(at, counts.end(), [&](int64_t count) { return count != *at; });
    if (end - at >= kSame) {
      parts.push_back(absl::StrCat("*[", *at, "] * ", end - at));
      at = end;
    } else {
      parts.push_back(absl::StrCat(*at++));
    }
  }
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

Entry EntryOf(const Wrapping& wrapping, const PlannedSegment& segment, bool preserve,
              const std::vector<int64_t>& parameters) {
  Entry entry{wrapping.segment.modules, "", segment.saves_bytes, wrapping.calls};
  const Offload offload = segment.segment.offload;
  entry.settings =
      absl::StrCat(offload != Offload::kNo ? absl::StrCat(", \"offload\": \"", std::string(NameOf(offload)), "\"")
                                           : absl::StrCat(", \"preserve_rng_state\": ", preserve ? "True" : "False"),
                   parameters.empty() ? "" : absl::StrCat(", \"parameters\": ", CountsText(parameters)),
                   KeepText(segment.segment), segment.stage ? absl::StrCat(", \"stage\": ", *segment.stage) : "");
  return entry;
}

std::string EntryText(const Entry& entry) {
  return absl::StrCat("    {\"modules\": ", NamesOf(entry.modules), entry.settings, "},  # frees ",
                      Thousands(entry.frees_bytes), " bytes",
                      entry.calls > 1 ? absl::StrCat(", in each of ", entry.calls, " calls") : "", "\n");
}

// Entries of repeated blocks, that differ in a number, as one comprehension.
std::string GroupText(const NameGroup& group, const std::vector<Entry>& entries) {
  int64_t bytes = 0;
  for (size_t member : group.members) bytes += entries[member].frees_bytes;
  const Entry& first = entries[group.members.front()];
  return absl::StrCat("    *({\"modules\": [f", Quoted(absl::StrCat(group.before, "{i}", group.after)), "]",
                      first.settings, "}\n      for i in ", SequenceOf(group.numbers), "),  # ", group.numbers.size(),
                      ", which free ", Thousands(bytes), " bytes\n");
}

std::string EntriesText(const std::vector<Entry>& entries) {
  std::vector<std::string> names, kinds;
  for (const Entry& entry : entries) {
    const bool alone =
        entry.modules.size() != 1 || entry.calls > 1 || entry.modules.front().find_first_of("{}") != std::string::npos;
    names.push_back(alone ? "" : entry.modules.front());
    kinds.push_back(entry.settings);
  }
  std::string text;
  for (const NameGroup& group : GroupNames(names, kinds)) {
    Append(text, group.numbers.empty() ? EntryText(entries[group.members.front()]) : GroupText(group, entries));
  }
  return text;
}

struct Parts {
  std::vector<Entry> entries;
  std::vector<Segment> segments;  // of the entries
  std::string left_out;           // comments
  int64_t left_out_count = 0;
};

std::string LeftOut(const Wrapping& wrapping, const PlannedSegment& segment) {
  const bool by_module = !wrapping.segment.modules.empty();
  const auto& names = by_module ? wrapping.segment.modules : segment.nodes;
  std::string what = names.empty() ? "" : names.front();
  if (names.size() > 1) absl::StrAppend(&what, " to ", names.back());
  return absl::StrCat(
      "# Not applied: ", by_module ? "" : "operators ", Comment(what), ": ", Comment(wrapping.why),
      ".\n# Edit forward to put it in torch.utils.checkpoint.checkpoint; until then the figures above do not hold.\n");
}

// `apply_plan`, and of a step over several cards `set_up`.
std::string ApplyText(CodeForm form, const std::optional<SpreadPlan>& spread) {
  const bool alone = form == CodeForm::kAlone;
  if (!spread) return std::string(alone ? kApplyPlan : kApplyImported);
  const bool staged = IsPipeline(spread->layout);
  return absl::StrCat(staged ? ApplyToStage(!alone) : std::string(alone ? kApplyPlan : kApplyImported),
                      alone ? "" : "\n\n", staged ? PipelineSetup(*spread) : RankSetup(*spread), alone ? "\n\n" : "");
}

}  // namespace

absl::StatusOr<EmittedCode> EmitPytorch(const Lowered& lowered, const ModelInfo& info, const Measured& baseline,
                                        const ModulePlan& plan, const MadeFor& made_for, CodeForm form) {
  if (made_for.spread) RETURN_IF_ERROR(CheckSetup(*made_for.spread));
  Parts parts;
  const ModuleNodes modules(lowered.graph);
  for (const PlannedSegment& segment : plan.segments) {
    ASSIGN_OR_RETURN(const Wrapping wrapping, WrappingOf(lowered, modules, segment.segment));
    if (wrapping.kind == WrapKind::kEditForward) {
      ++parts.left_out_count;
      Append(parts.left_out, LeftOut(wrapping, segment));
      continue;
    }
    RETURN_IF_ERROR(CheckPipelineSetup(made_for.spread, wrapping.running_statistics));
    // An export in evaluation mode has lost its dropouts: there the generator's state is kept to be safe.
    parts.entries.push_back(EntryOf(wrapping, segment, wrapping.random || !lowered.training_form,
                                    ParametersOf(lowered, modules, wrapping.segment)));
    parts.segments.push_back(segment.segment);
    parts.segments.back().modules = wrapping.segment.modules;
  }
  EmittedCode code;
  code.text = absl::StrCat(Header(info, baseline, plan, made_for), parts.left_out);
  Append(code.text, UsageOf(form, made_for.spread));
  const std::string wrapper = WrapperOf(lowered);
  absl::StrAppend(&code.text, "EXPORT_WRAPPER = ", Quoted(wrapper.empty() ? "" : wrapper + "."), "\n");
  absl::StrAppend(&code.text, "SETTINGS = ", DictOf(plan.settings), "\n");
  const std::string keep = KeepTableOf(parts.segments);
  if (!keep.empty()) absl::StrAppend(&code.text, "KEEP = {\n", keep, "}\n");
  absl::StrAppend(&code.text, "PLAN = [\n", EntriesText(parts.entries), "]\n\n\n");
  Append(code.text, ApplyText(form, made_for.spread));
  if (form == CodeForm::kAlone) Append(code.text, kAppliedCode);
  if (parts.left_out_count > 0) {
    code.diagnostics.push_back(
        {.code = Code::kEditForward,
         .severity = Severity::kWarning,
         .count = parts.left_out_count,
         .message = "segments of the plan can only be wrapped by an edit of forward; the code leaves them out"});
  }
  return code;
}

}  // namespace onnx_mem
