// The parts of the Python that emit_pytorch.cc prints, in the order in which they stand in the file.
#ifndef ONNX_MEM_PLANNER_PLANS_CODE_PYTORCH_CODE_H_
#define ONNX_MEM_PLANNER_PLANS_CODE_PYTORCH_CODE_H_

#include <string_view>

namespace onnx_mem {

// How the code is used; follows the header comment.
inline constexpr std::string_view kUsage = R"py(#
#     import plan
#     plan.apply_plan(model)        # once, before the first step
#
# Parameters, buffers and their names stay as they are.
)py";

// The entries' names on the user's model. %WRAPPER% is a class made for the export, if there was one.
inline constexpr std::string_view kResolve = R"py(

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

inline constexpr std::string_view kFrozenStatistics = R"py(

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

// Arguments as they were at the first run: a dense block appends to the list that it hands to its layers.
inline constexpr std::string_view kCall = R"py(

def _unshared(value):
    """A list or dict that the caller may change before the second run: a copy of it."""
    return type(value)(value) if type(value) in (list, dict) else value


def _call(run, options, *args, **kwargs):
    args, kwargs = [_unshared(arg) for arg in args], {key: _unshared(arg) for key, arg in kwargs.items()}
    return torch.utils.checkpoint.checkpoint(run, *args, **options, **kwargs)
)py";

inline constexpr std::string_view kCheckpoint = R"py(

def _checkpointed(run, modules, entry):
    """`run`, a function that calls `modules`, in one checkpoint call."""
    options = {"use_reentrant": False, "preserve_rng_state": entry["preserve_rng_state"]}
    norms = [m for module in modules for m in module.modules() if getattr(m, "track_running_stats", False)]
    if norms:
        options["context_fn"] = lambda: (contextlib.nullcontext(), _frozen_statistics(norms))
    return functools.partial(_call, run, options)
)py";

// The same where results of some operators are kept.
inline constexpr std::string_view kSelectiveCheckpoint = R"py(

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
    return functools.partial(_call, run, options)
)py";

inline constexpr std::string_view kSequentialRun = R"py(

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

inline constexpr std::string_view kApplyHead = R"py(

def apply_plan(model):
    """Wraps the plan's modules in place and returns the model."""
    if getattr(model, "_onnx_mem_plan", None) is not None:
        raise RuntimeError("a plan has been applied to this model already")
    known, entries = _modules_of(model)
    for config in {id(c): c for c in (getattr(m, "config", None) for m in model.modules()) if c is not None}.values():
        if getattr(config, "use_cache", False):
            config.use_cache = False  # a second run must not find the keys and values of the first
)py";

inline constexpr std::string_view kApplyModules = R"py(    for entry, names in zip(PLAN, entries):
        module = known[names[0]]
        module.forward = _checkpointed(module.forward, [module], entry)
)py";

inline constexpr std::string_view kApplyRuns = R"py(    sequentials = {}
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

inline constexpr std::string_view kApplyTail = R"py(    model._onnx_mem_plan = PLAN
    return model
)py";

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_PLANS_CODE_PYTORCH_CODE_H_
