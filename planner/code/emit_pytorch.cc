#include "planner/code/emit_pytorch.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/rank_note.h"
#include "applied_code.h"
#include "planner/code/keep_table.h"
#include "planner/code/pipeline_setup.h"
#include "planner/code/plan_entries.h"
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

// Of what is printed beside `import onnx_mem`, without the set-up of ranks: what a person looks through. Behind the
// plan stand two lines that apply it.
constexpr int64_t kMostLines = 30;
constexpr int64_t kApplyLines = 4;

constexpr std::string_view kEditForwardText =
    "# Edit forward to put what is not applied in torch.utils.checkpoint.checkpoint; until then the figures above do "
    "not "
    "hold.\n";

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

int64_t LinesOf(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

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

std::string KeepText(const Segment& segment) {
  if (segment.by_call()) return absl::StrCat(", \"keep\": ", CallsOf(kKeepTable, segment));
  return segment.keep.empty() ? "" : absl::StrCat(", \"keep\": ", QuotedList(segment.keep));
}

std::string HostText(const Segment& segment) {
  if (!segment.moves_some()) return "";
  return absl::StrCat(", \"offload\": {\"when\": \"", std::string(NameOf(segment.offload)), "\"",
                      segment.host_inputs ? ", \"inputs\": True" : "",
                      segment.host_calls.empty() ? "" : ", \"calls\": " + CallsOf(kHostTable, segment), "}");
}

PlanEntry EntryOf(const Wrapping& wrapping, const PlannedSegment& segment, bool preserve,
                  std::vector<int64_t> parameters) {
  const Segment& own = segment.segment;
  return {.modules = wrapping.segment.modules,
          .before = own.moves_all() ? absl::StrCat(", \"offload\": \"", std::string(NameOf(own.offload)), "\"")
                                    : absl::StrCat(", \"preserve_rng_state\": ", preserve ? "True" : "False"),
          .parameters = std::move(parameters),
          .after = absl::StrCat(KeepText(own), HostText(own),
                                segment.stage ? absl::StrCat(", \"stage\": ", *segment.stage) : ""),
          .frees_bytes = segment.saves_bytes,
          .calls = wrapping.calls};
}

struct Parts {
  std::vector<PlanEntry> entries;
  std::vector<Segment> segments;  // of the entries
  std::string left_out;           // comments
  int64_t left_out_count = 0;
};

std::string LeftOut(const Wrapping& wrapping, const PlannedSegment& segment) {
  const bool by_module = !wrapping.segment.modules.empty();
  const auto& names = by_module ? wrapping.segment.modules : segment.nodes;
  std::string what = names.empty() ? "" : names.front();
  if (names.size() > 1) absl::StrAppend(&what, " to ", names.back());
  return absl::StrCat("# Not applied: ", by_module ? "" : "operators ", Comment(what), ": ", Comment(wrapping.why),
                      ".\n");
}

std::string DictLines(std::string_view name, const std::string& lines) {
  return lines.empty() ? "" : absl::StrCat(std::string(name), " = {\n", lines, "}\n");
}

// KEEP and HOST, if there are such, and PLAN: a line for each row and entry, or where that is more than `most_lines`
// several in a line and no remarks.
std::string Tables(const Parts& parts, int64_t most_lines) {
  const std::vector<std::string> kept = RowsOf(kKeepTable, parts.segments), moved = RowsOf(kHostTable, parts.segments);
  most_lines -= 2 + (kept.empty() ? 0 : 2) + (moved.empty() ? 0 : 2);  // brackets
  std::string keep, host, plan;
  for (const std::string& row : kept) absl::StrAppend(&keep, "    ", row, ",\n");
  for (const std::string& row : moved) absl::StrAppend(&host, "    ", row, ",\n");
  std::vector<std::string> items;
  for (const EntryLine& line : EntryLines(parts.entries)) {
    absl::StrAppend(&plan, "    ", line.item, ",  # ", line.remark, "\n");
    items.push_back(absl::StrReplaceAll(line.item, {{"\n     ", ""}}));
  }
  const auto count = static_cast<int64_t>(items.size());
  const int64_t rows = LinesOf(keep) + LinesOf(host);
  if (rows + LinesOf(plan) > most_lines) {
    const int64_t for_rows = std::min(rows, std::max(most_lines / 2, most_lines - count));
    const int64_t for_host = rows > 0 ? for_rows * LinesOf(host) / rows : 0;
    plan = InLines(items, "    ", most_lines - for_rows);
    keep = InLines(kept, "    ", for_rows - for_host);
    host = InLines(moved, "    ", for_host);
  }
  return absl::StrCat(DictLines(kKeepTable.name, keep), DictLines(kHostTable.name, host), "PLAN = [\n", plan,
                      "]\n\n\n");
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
  if (parts.left_out_count > 0) Append(parts.left_out, kEditForwardText);
  EmittedCode code;
  code.text = absl::StrCat(Header(info, baseline, plan, made_for), parts.left_out);
  Append(code.text, UsageOf(form, made_for.spread));
  const std::string wrapper = WrapperOf(lowered);
  absl::StrAppend(&code.text, "EXPORT_WRAPPER = ", Quoted(wrapper.empty() ? "" : wrapper + "."), "\n");
  absl::StrAppend(&code.text, "SETTINGS = ", DictOf(plan.settings), "\n");
  code.text += Tables(parts, kMostLines - kApplyLines - LinesOf(code.text));
  Append(code.text, ApplyText(form, made_for.spread));
  if (form == CodeForm::kAlone) {
    for (const std::string_view half : kAppliedCode) code.text += half;
  }
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
