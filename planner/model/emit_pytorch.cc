#include "planner/model/emit_pytorch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/graph/status_macros.h"
#include "planner/model/wrapping.h"

namespace onnx_mem {
namespace {

// How the code is used; follows the header comment.
constexpr std::string_view kUsage = R"py(#
#     import plan
#     plan.apply_plan(model)        # once, before the first step
#
# Parameters, buffers and their names stay as they are.
)py";

// The entries' names on the user's model. %WRAPPER% is a class made for the export, if there was one.
constexpr std::string_view kResolve = R"py(

def _modules_of(model):
    """For each entry of PLAN, the model's modules. A wrapper may stand around the model, or be missing here."""
    known = dict(model.named_modules(remove_duplicate=False))
    names = [name for entry in PLAN for name in entry["modules"]]
    for wrapper in ("", "module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod."):
        for export_wrapper in ("", EXPORT_WRAPPER):
            own = {name: wrapper + name.removeprefix(export_wrapper) for name in names}
            if all(name in known for name in own.values()):
                return known, [[own[name] for name in entry["modules"]] for entry in PLAN]
    missing = [name for name in names if name not in known]
    raise ValueError(f"not the model that the plan was made for: it has no module {missing[0]!r}")
)py";

constexpr std::string_view kFrozenStatistics = R"py(

@contextlib.contextmanager
def _frozen_statistics(norms):
    """Running statistics must not move a second time when the forward is run again."""
    kept = [(norm, norm.momentum, norm.num_batches_tracked) for norm in norms]
    for norm, _, count in kept:
        norm.momentum = 0.0
        norm.num_batches_tracked = count.clone() if isinstance(norm, torch.nn.SyncBatchNorm) else None
    try:
        yield
    finally:
        for norm, norm.momentum, norm.num_batches_tracked in kept:
            pass
)py";

constexpr std::string_view kCheckpoint = R"py(

def _checkpointed(run, modules, entry):
    """`run`, a function that calls `modules`, in one checkpoint call."""
    options = {"use_reentrant": False, "preserve_rng_state": entry["preserve_rng_state"]}
    norms = [m for module in modules for m in module.modules() if getattr(m, "track_running_stats", False)]
    if norms:
        options["context_fn"] = lambda: (contextlib.nullcontext(), _frozen_statistics(norms))
    return functools.partial(torch.utils.checkpoint.checkpoint, run, **options)
)py";

// The same where results of some operators are kept.
constexpr std::string_view kSelectiveCheckpoint = R"py(

@contextlib.contextmanager
def _together(*contexts):
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        yield


def _contexts(norms, keep):
    """What the first run and the second run under: results of `keep` are kept, running statistics stand still."""
    first, second = torch.utils.checkpoint.create_selective_checkpoint_contexts(keep)
    return first, _together(second, _frozen_statistics(norms))


def _checkpointed(run, modules, entry):
    """`run`, a function that calls `modules`, in one checkpoint call."""
    options = {"use_reentrant": False, "preserve_rng_state": entry["preserve_rng_state"]}
    norms = [m for module in modules for m in module.modules() if getattr(m, "track_running_stats", False)]
    if entry.get("keep"):
        keep = [getattr(torch.ops.aten, name).default for name in entry["keep"]]
        options["context_fn"] = functools.partial(_contexts, norms, keep)
    elif norms:
        options["context_fn"] = lambda: (contextlib.nullcontext(), _frozen_statistics(norms))
    return functools.partial(torch.utils.checkpoint.checkpoint, run, **options)
)py";

constexpr std::string_view kSequentialRun = R"py(

def _in_turn(steps):
    def forward(x):
        for step in steps:
            x = step(x)
        return x
    return forward


def _wrap_children(sequential, runs):
    """nn.Sequential's forward, with each run of its children, (first, last, entry), in one checkpoint call."""
    children, steps, at = list(sequential), [], 0
    for first, last, entry in sorted(runs, key=lambda run: run[0]):
        run = children[first:last + 1]
        steps += children[at:first] + [_checkpointed(_in_turn(run), run, entry)]
        at = last + 1
    sequential.forward = _in_turn(steps + children[at:])


def _run_of_children(known, names):
    """(sequential, first, last) if `names` are children of one nn.Sequential, else None."""
    parents = {name.rpartition(".")[0] for name in names}
    parent = known.get(parents.pop()) if len(parents) == 1 else None
    if not isinstance(parent, torch.nn.Sequential) or type(parent).forward is not torch.nn.Sequential.forward:
        return None
    order = list(parent._modules)
    at = [order.index(name.rpartition(".")[2]) for name in names]
    return parent, min(at), max(at)


def _wrap_chain(modules, entry):
    """Modules that are called one after another: the first computes them all, the others pass its result on."""
    forwards, last = [module.forward for module in modules], {}

    def run(x, *args, **kwargs):
        for forward in forwards:
            x = forward(x, *args, **kwargs)
        return x

    def pass_on(module, x, *args, **kwargs):
        args_0, kwargs_0 = last["arguments"]
        same = last["result"]() is x and len(args) == len(args_0) and kwargs.keys() == kwargs_0.keys()
        same = same and all(a is b for a, b in zip(args, args_0)) and all(kwargs[k] is kwargs_0[k] for k in kwargs)
        if not same:
            raise RuntimeError(f"{entry['modules']} do not run one after another on the same arguments; "
                               "checkpoint this run of modules where forward calls them")
        if module is modules[-1]:
            last.clear()
        return x

    checkpointed = _checkpointed(run, modules, entry)

    def first(x, *args, **kwargs):
        result = checkpointed(x, *args, **kwargs)
        last.update(result=weakref.ref(result), arguments=(args, kwargs))
        return result

    modules[0].forward = first
    for module in modules[1:]:
        module.forward = functools.partial(pass_on, module)
)py";

constexpr std::string_view kApplyHead = R"py(

def apply_plan(model):
    """Wraps the plan's modules in place and returns the model."""
    if getattr(model, "_onnx_mem_plan", None) is not None:
        raise RuntimeError("a plan has been applied to this model already")
    known, entries = _modules_of(model)
    for config in {id(c): c for c in (getattr(m, "config", None) for m in model.modules()) if c is not None}.values():
        if getattr(config, "use_cache", False):
            config.use_cache = False  # a second run must not find the keys and values of the first
)py";

constexpr std::string_view kApplyModules = R"py(    for entry, names in zip(PLAN, entries):
        module = known[names[0]]
        module.forward = _checkpointed(module.forward, [module], entry)
)py";

constexpr std::string_view kApplyRuns = R"py(    sequentials = {}
    for entry, names in zip(PLAN, entries):
        modules = [known[name] for name in names]
        children = _run_of_children(known, names) if len(names) > 1 else None
        if len(names) == 1:
            modules[0].forward = _checkpointed(modules[0].forward, modules, entry)
        elif children is not None:
            sequentials.setdefault(children[0], []).append((*children[1:], entry))
        else:
            _wrap_chain(modules, entry)
    for sequential, runs in sequentials.items():
        _wrap_children(sequential, runs)
)py";

constexpr std::string_view kApplyTail = R"py(    model._onnx_mem_plan = PLAN
    return model
)py";

void Append(std::string& text, std::string_view part) { text.append(part.data(), part.size()); }

// A Python string literal.
std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\r", "\\r"}}), "\"");
}

std::string QuotedList(const std::vector<std::string>& names) {
  return absl::StrCat("[", absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) {
                        absl::StrAppend(out, Quoted(name));
                      }), "]");
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

std::string Header(const ModelInfo& info, const Measured& baseline, const ModulePlan& plan) {
  std::string bound;
  for (const auto& [name, value] : info.bound_dims) absl::StrAppend(&bound, ", ", name, " = ", value);
  return absl::StrCat(
      "# Checkpoint plan of onnx-mem for ", Comment(FileName(info.path)), Comment(bound), ": ", Comment(plan.label), "\n",
      absl::StrFormat("# Predicted peak of a training step: %s bytes; without the plan %s bytes.\n",
                      Thousands(plan.measured.peak_bytes), Thousands(baseline.peak_bytes)),
      absl::StrFormat("# Computed twice: %s FLOPs, %.1f %% more time.\n", Thousands(plan.measured.recompute_flops),
                      100 * plan.measured.slowdown));
}

std::string Entry(const Wrapping& wrapping, const PlannedSegment& segment, bool preserve) {
  return absl::StrCat("    {\"modules\": ", QuotedList(wrapping.segment.modules), ", \"preserve_rng_state\": ",
                      preserve ? "True" : "False",
                      segment.segment.keep.empty() ? "" : absl::StrCat(", \"keep\": ", QuotedList(segment.segment.keep)),
                      "},  # frees ", Thousands(segment.saves_bytes), " bytes",
                      wrapping.calls > 1 ? absl::StrCat(", in each of ", wrapping.calls, " calls") : "", "\n");
}

struct Parts {
  std::string entries;
  std::string left_out;  // comments
  bool runs = false;
  bool selective = false;
  int64_t left_out_count = 0;
};

std::string LeftOut(const Wrapping& wrapping, const PlannedSegment& segment) {
  const bool by_module = !wrapping.segment.modules.empty();
  const auto& names = by_module ? wrapping.segment.modules : segment.nodes;
  std::string what = names.empty() ? "" : names.front();
  if (names.size() > 1) absl::StrAppend(&what, " to ", names.back());
  return absl::StrCat("# Not applied: ", by_module ? "" : "operators ", Comment(what), ": ", Comment(wrapping.why),
                      ".\n# Edit forward to put it in torch.utils.checkpoint.checkpoint; until then the figures above do not hold.\n");
}

}  // namespace

absl::StatusOr<EmittedCode> EmitPytorch(const Lowered& lowered, const ModelInfo& info, const Measured& baseline,
                                        const ModulePlan& plan) {
  Parts parts;
  for (const PlannedSegment& segment : plan.segments) {
    ASSIGN_OR_RETURN(const Wrapping wrapping, WrappingOf(lowered, segment.segment));
    if (wrapping.kind == WrapKind::kEditForward) {
      ++parts.left_out_count;
      Append(parts.left_out, LeftOut(wrapping, segment));
      continue;
    }
    parts.selective |= !segment.segment.keep.empty();
    parts.runs |= wrapping.kind == WrapKind::kRun;
    // An export in evaluation mode has lost its dropouts: there the generator's state is kept to be safe.
    Append(parts.entries, Entry(wrapping, segment, wrapping.random || !lowered.training_form));
  }
  EmittedCode code;
  code.text = Header(info, baseline, plan);
  Append(code.text, parts.left_out);
  Append(code.text, kUsage);
  Append(code.text, "import contextlib\nimport functools\n");
  if (parts.runs) Append(code.text, "import weakref\n");
  Append(code.text, "\nimport torch\nimport torch.utils.checkpoint\n\n");
  const std::string wrapper = WrapperOf(lowered);
  absl::StrAppend(&code.text, "EXPORT_WRAPPER = ", Quoted(wrapper.empty() ? "" : wrapper + "."), "\n");
  absl::StrAppend(&code.text, "PLAN = [\n", parts.entries, "]\n");
  for (std::string_view part : {kResolve, kFrozenStatistics, parts.selective ? kSelectiveCheckpoint : kCheckpoint}) Append(code.text, part);
  if (parts.runs) Append(code.text, kSequentialRun);
  Append(code.text, kApplyHead);
  Append(code.text, parts.runs ? kApplyRuns : kApplyModules);
  Append(code.text, kApplyTail);
  if (parts.left_out_count > 0) {
    code.diagnostics.push_back({.code = "edit-forward", .severity = Severity::kWarning, .count = parts.left_out_count,
                                .message = "segments of the plan can only be wrapped by an edit of forward; the code leaves them out"});
  }
  return code;
}

std::string EmitPlanJson(const ModelInfo& info, const ModulePlan& plan) {
  nlohmann::ordered_json document;
  document["model"] = FileName(info.path);
  document["label"] = plan.label;
  document["peak_bytes"] = plan.measured.peak_bytes;
  document["recompute_flops"] = plan.measured.recompute_flops;
  document["segments"] = nlohmann::ordered_json::array();
  for (const PlannedSegment& segment : plan.segments) {
    nlohmann::ordered_json entry;
    if (!segment.segment.modules.empty()) entry["modules"] = segment.segment.modules;
    if (!segment.segment.nodes.empty()) entry["nodes"] = segment.segment.nodes;
    if (!segment.segment.keep.empty()) entry["keep"] = segment.segment.keep;
    document["segments"].push_back(std::move(entry));
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace onnx_mem
