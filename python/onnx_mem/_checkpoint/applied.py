# The code below is the same for every plan; it needs torch alone. In the package it is onnx_mem/_checkpoint/applied.py,
# and `onnx-mem plan --emit pytorch --self-contained` prints it behind a plan.
#
# A planned module gets a subclass of its class that differs in forward alone; what the plan says of it stands in the
# module's __dict__ as plain values. Nothing refers to another module's weights, so copies, pickles and replicas compute
# with their own.
import ast
import collections
import contextlib
import copyreg
import functools
import operator
import os
import pickle
import re
import warnings
import weakref

import torch
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

_SEGMENT = "_onnx_mem_segment"    # of a planned module: its entry, or a list of those of its children's runs
_CHAIN = "_onnx_mem_chain"        # of modules that are one segment: all of them, in order
_WAS_INPLACE = "_onnx_mem_inplace"
_USED_CACHE = "_onnx_mem_use_cache"


def apply(model, plan, export_wrapper="", settings=None):
    """Puts the segments of `plan` in torch.utils.checkpoint, or what they save on the host, and returns the model.
    `export_wrapper`: "m." where the plan's names begin with a class made for the export. `settings`: what the plan
    needs of the environment."""
    if any(_SEGMENT in module.__dict__ for module in model.modules()):
        raise ValueError("a plan has been applied to this model already; restore(model) takes it off")
    known, entries = _resolved(model, [_spelled_out(entry) for entry in plan], export_wrapper)
    planned = _assigned(known, entries)
    for module, (kind, value) in planned.items():
        _check_can_be_planned(module, value)
    _check_units(model, planned)
    _check_settings(settings or {})
    for entry, names in entries:
        if not _moves_all(entry):
            _keep_input(names[0], known[names[0]])
    for module, (kind, value) in planned.items():
        _put(module, kind, value)
    # A second run must not find the keys and values of the first.
    seen = set()
    for module in model.modules():
        config = getattr(module, "config", None)
        if id(config) not in seen and getattr(config, "use_cache", False):
            config.use_cache = False
            module.__dict__[_USED_CACHE] = True
        seen.add(id(config))
    return model


def restore(model):
    """Takes a plan off again: classes and flags are what they were. Returns the model."""
    for name, module in model.named_modules():
        if _SEGMENT in module.__dict__ and "_onnx_mem_base" not in type(module).__dict__:
            raise ValueError(f"the class of {name!r} was changed after the plan was applied (by "
                             f"{type(module).__name__}); take that off first")
    for module in model.modules():
        state = module.__dict__
        if state.pop(_SEGMENT, None) is not None:
            state.pop(_CHAIN, None)
            module.__class__ = type(module)._onnx_mem_base
        if state.pop(_WAS_INPLACE, False):
            module.inplace = True
        if state.pop(_USED_CACHE, False):
            module.config.use_cache = True
    return model


# ---------------------------------------------------------------------------------------------- the plan on the model

_PATTERN = re.compile(r"(.*)\{(\d+(?:\.\.\d+){0,2}(?:,\d+(?:\.\.\d+)?)*)\}(.*)")
_CALL = re.compile(r"(?:(.+):)?([^#\[]+)(?:#([\d,]+))?(?:\[([\d,]*)\])?")


def _names_of(text):
    """Of "h.{0..2,5}": h.0, h.1, h.2 and h.5; of "h.{0..6..2}" every second one."""
    pattern = _PATTERN.fullmatch(text)
    if pattern is None:
        return [text]
    before, numbers, after = pattern.groups()
    names = []
    for part in numbers.split(","):
        first, last, step = ([int(n) for n in part.split("..")] + [None, None])[:3]
        names += [f"{before}{i}{after}" for i in range(first, (first if last is None else last) + 1, step or 1)]
    return names


def _calls_of(block, text):
    """{call: outputs} of one word: "fc:addmm#0,1[0]", where #0 and [0] may be missing."""
    path, op, nth, outputs = _CALL.fullmatch(text).groups()
    kept = [int(n) for n in (outputs or "").split(",") if n] if outputs is not None else [0]
    return {f"{block}{'.' if path else ''}{path or ''}:{op}#{n}": kept for n in (nth or "0").split(",")}


def _spelled_out(entry):
    """An entry with all names in full."""
    modules = [name for text in entry["modules"] for name in _names_of(text)]
    entry = {**entry, "modules": modules}
    if isinstance(entry.get("keep"), dict):
        entry["keep"] = _spelled_out_calls(entry["keep"], modules)
    if isinstance(entry.get("offload"), dict):
        entry["offload"] = {**entry["offload"],
                            "calls": _spelled_out_calls(entry["offload"].get("calls", {}), modules)}
    return entry


def _spelled_out_calls(table, modules):
    """{call: outputs}. Calls by block are those of the whole plan: taken is what is of `modules`."""
    calls = {call: outputs for call, outputs in table.items() if not isinstance(outputs, str)}
    for blocks, text in table.items():
        if isinstance(text, str):
            own = [name for each in blocks.split() for name in _names_of(each) if name in modules]
            for block in own:
                for word in text.split():
                    calls.update(_calls_of(block, word))
    return calls


def _moves_all(entry):
    """What the modules save moves to the host, and nothing runs again."""
    return isinstance(entry.get("offload"), str)


def _resolved(model, plan, export_wrapper):
    """({name: module}, [(entry, its modules' names in this model)])."""
    known = _known(model)
    names = [name for entry in plan for name in entry["modules"]]
    for own in _renamings(known, names, export_wrapper):
        if all(name in known for name in own.values()):
            found = [(entry, [own[name] for name in entry["modules"]]) for entry in plan]
            _check_sizes(known, found)
            return known, found
    missing = next(name for name in names if name not in known)
    there = missing.removeprefix(export_wrapper)
    while there and there not in known:
        there = there.rpartition(".")[0]
    children = ", ".join(name for name, _ in known[there].named_children()) or "nothing"
    raise ValueError(f"not the model that the plan was made for: it has no module {missing!r}; "
                     f"{repr(there) if there else 'the model'} holds {children}")


_WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module")    # of torch.compile, and of FSDP1 around each unit


def _known(model):
    """Modules by their paths, without the parts that wrappers within the model add to them."""
    known = {}
    for name, module in model.named_modules(remove_duplicate=False):
        known[".".join(part for part in name.split(".") if part not in _WRAPPERS)] = module    # the innermost
    return known


def _renamings(known, names, export_wrapper):
    """Ways from the plan's names to this model's: as they are; within a wrapper (DistributedDataParallel's "module."),
    or without the first part of the export's names, which may be a class made for it; within an attribute that holds
    the model ("model." of a LightningModule); or without such an attribute that the analysed one had."""
    for wrapper in ("", "module."):
        for before in ("", export_wrapper):
            yield {name: wrapper + name.removeprefix(before) for name in names}
    holders = [name + "." for name in known
               if name and "." not in name.removeprefix("module.") and not name.rpartition(".")[2].isdigit()]
    within = [{name: holder + name for name in names} for holder in holders]
    within = [own for own in within if all(name in known for name in own.values())]
    modules = {tuple(map(known.get, own.values())) for own in within}
    if len(modules) > 1:
        places = ", ".join(next(iter(own.values())) for own in within)
        raise ValueError(f"the plan's modules are there more than once ({places}); apply it to the part that is "
                         "trained")
    yield from within[:1]
    first = names[0].partition(".")[0] + "." if names else ""
    rest = {name: name.removeprefix(first) for name in names}
    if all(name.startswith(first) and not rest[name].partition(".")[0].isdigit() for name in names):
        for wrapper in ("", "module."):
            yield {name: wrapper + short for name, short in rest.items()}


def _check_sizes(known, entries):
    """The first module whose parameters are not those of the analysed one is named."""
    if any(_is_a(module, "FullyShardedDataParallel") for module in known.values()):
        return    # their parameters are slices of flat ones
    for entry, names in entries:
        for name, expected in zip(names, entry.get("parameters", [])):
            own = sum(p.numel() for p in known[name].parameters())
            differs = f"{name!r} has {own:,} parameters, in the analysed model {expected:,}"
            if own < expected:
                raise ValueError("not the model that the plan was made for: " + differs)
            if own > expected:    # a file shows no parameters that nothing reads
                warnings.warn(differs + ": if that is another model, the plan's figures are not its own", stacklevel=4)


def _assigned(known, entries):
    """{module: (kind, value)}: how each entry is put on the model. A module alone is one call; of children of one
    nn.Sequential the parent makes one; of other modules the first one's call begins it, and the others' join it."""
    planned, runs = {}, {}

    def put(name, module, kind, value):
        if module in planned:
            raise ValueError(f"{name!r} is in two segments of the plan, maybe under another name")
        planned[module] = (kind, value)

    for entry, names in entries:
        value = {"modules": names, "keep": _own_calls(entry, names), "host": _own_host(entry),
                 "preserve_rng_state": bool(entry.get("preserve_rng_state", True))}
        modules = [known[name] for name in names]
        if _moves_all(entry):
            if len(names) > 1:
                raise ValueError(f"{', '.join(names)}: modules go to the host one by one")
            put(names[0], modules[0], "offload", {"modules": names, "offload": entry["offload"]})
            continue
        value["preserve_rng_state"] |= any(_draws(m) for module in modules for m in module.modules())
        parent = _parent_of_run(known, names) if len(names) > 1 else None
        if parent is not None:
            # With what lies between them: the file shows no child that has nothing to run, such as Dropout(0.0).
            order = list(parent._modules)
            at = [order.index(name.rpartition(".")[2]) for name in names]
            children = order[min(at):max(at) + 1]
            value["preserve_rng_state"] |= any(_draws(m) for child in children
                                               for m in parent._modules[child].modules())
            own = [name.rpartition(".")[2] for name in names]
            runs.setdefault(parent, []).append({**value, "first": children[0], "last": children[-1],
                                                "traced": _traced(value, children=own)})
        elif len(names) == 1:
            put(names[0], modules[0], "module", {**value, "traced": _traced(value)})
        else:
            for i, (name, module) in enumerate(zip(names, modules)):
                put(name, module, "follower" if i else "head",
                    {**value, "chain": modules, "traced": _traced(value, at=i)})
    for parent, value in runs.items():
        put("the parent of " + value[0]["modules"][0], parent, "children", value)
    return planned


def _draws(module):
    """Random numbers, as far as a module's settings tell: dropout, stochastic depth."""
    rates = (getattr(module, name, 0) for name in ("p", "drop_prob", "dropout", "attn_drop", "attention_dropout"))
    return any(isinstance(rate, float) and rate > 0 for rate in rates)


def _parent_of_run(known, names):
    parents = {name.rpartition(".")[0] for name in names}
    parent = known.get(parents.pop()) if len(parents) == 1 else None
    plain = isinstance(parent, torch.nn.Sequential) and type(parent).forward is torch.nn.Sequential.forward
    return parent if plain else None


def _check_can_be_planned(module, value):
    name = (value[0] if isinstance(value, list) else value)["modules"][0]
    if isinstance(module, torch.jit.ScriptModule):
        raise ValueError(f"{name!r} is a ScriptModule, whose forward cannot be wrapped; apply the plan before "
                         "scripting")
    if "forward" in module.__dict__:
        raise ValueError(f"the forward of {name!r} was replaced on the instance; apply the plan before what does that")
    if type(module).forward is torch.nn.Module.forward:
        raise ValueError(f"{name!r} is a {type(module).__name__}, which is not called itself; edit the forward around "
                         "it")


def _check_units(model, planned):
    """FSDP gathers a unit's parameters where the unit is called; a second run of several modules calls none of them."""
    for module, (kind, value) in planned.items():
        if kind != "head":
            continue
        units = {_unit_of(model, m) for m in value["chain"]}
        if len(units) > 1 or any(unit in value["chain"] for unit in units):
            raise ValueError(f"{', '.join(value['modules'])} are in several units of FSDP, whose parameters are "
                             "gathered one unit at a time: they cannot run as one segment; use a plan of single "
                             "modules, or make them one unit")


def _unit_of(model, module):
    """The innermost module that FSDP shards as one and that holds `module`, maybe itself; None without one."""
    unit, held = None, sum(1 for _ in model.modules()) + 1
    for m in model.modules():
        if _is_a(m, "FSDPModule", "FullyShardedDataParallel"):
            inside = list(m.modules())
            if len(inside) < held and any(other is module for other in inside):
                unit, held = m, len(inside)
    return unit


def _is_a(module, *names):
    """By name: the classes of FSDP2 and FSDP1 are in packages that need not be there."""
    return any(c.__name__ in names for c in type(module).__mro__)


def _check_settings(settings):
    """A plan's figures hold with its settings alone, which are read before anything runs on the device."""
    for variable, value in settings.items():
        names = (variable, "PYTORCH_CUDA_ALLOC_CONF") if variable == "PYTORCH_ALLOC_CONF" else (variable,)
        there = {part.strip() for name in names for part in os.environ.get(name, "").split(",")}
        missing = [part for part in value.split(",") if part not in there]
        if missing:
            warnings.warn(f"the plan needs {variable}={value} in the environment, and {', '.join(missing)} is missing "
                          "there: set it before the process starts, or the step may take more memory", stacklevel=4)


def _keep_input(name, module):
    """A segment that begins by writing over its input could not run again."""
    while isinstance(module, torch.nn.Sequential) and len(module) > 0:
        module = module[0]
    if getattr(module, "inplace", False) is True:
        _not_in_place(name, module)


def _not_in_place(name, module):
    module.inplace = False
    module.__dict__[_WAS_INPLACE] = True
    warnings.warn(f"the segment that begins with {name!r} would write over its input, which its second run needs: its "
                  f"{type(module).__name__} is no longer in place", stacklevel=2)


def _put(module, kind, value):
    if kind in ("head", "follower"):
        module.__dict__[_CHAIN] = tuple(value["chain"])
        value = {key: v for key, v in value.items() if key != "chain"}
    module.__dict__[_SEGMENT] = value
    module.__class__ = _planned_class(type(module), kind)


@functools.lru_cache(maxsize=None)
def _planned_class(base, kind):
    """A subclass of `base` whose forward checkpoints."""
    run = _RUNS[kind]

    @functools.wraps(base.forward)
    def forward(self, *args, **kwargs):
        return run(self, base.forward, args, kwargs)

    def __reduce_ex__(self, protocol):
        made = base.__reduce_ex__(self, protocol)
        if made[0] is not copyreg.__newobj__:
            raise pickle.PicklingError(f"{base.__name__} pickles in a way of its own; restore(model) before it")
        return _new, (base, kind), *made[2:]

    names = {"forward": forward, "__reduce_ex__": __reduce_ex__, "_onnx_mem_base": base, "__doc__": base.__doc__,
             "__module__": base.__module__, "__qualname__": base.__qualname__}
    return type(base.__name__, (base,), names)


def _new(base, kind):
    cls = _planned_class(base, kind)
    return cls.__new__(cls)


# ------------------------------------------------------------------------------------------------- forward as planned

def _as_it_is():
    """Nothing will be kept for a backward, or forward is only looked at."""
    exporting = getattr(torch.compiler, "is_exporting", lambda: False)
    return not torch.is_grad_enabled() or exporting() or torch.jit.is_tracing()


def _run_module(self, inner, args, kwargs):
    if _as_it_is():
        return inner(self, *args, **kwargs)

    def run(*args, **kwargs):
        return inner(self, *args, **kwargs)
    return _checkpointed(run, [self], getattr(self, _SEGMENT), args, kwargs)


def _run_children(self, inner, args, kwargs):
    if _as_it_is():
        return inner(self, *args, **kwargs)
    x, = args
    last = {segment["first"]: segment for segment in getattr(self, _SEGMENT)}
    children = list(self._modules.items())
    at = 0
    while at < len(children):
        name, child = children[at]
        segment, end = last.get(name), at + 1
        if segment is None:
            x = child(x)
        else:
            while children[end - 1][0] != segment["last"]:
                end += 1
            x = _run_of(children[at:end], segment, x)
        at = end
    return x


def _run_of(children, segment, x):
    modules = [child for _, child in children]

    def run(x):
        for module in modules:
            x = module(x)
        return x
    return _checkpointed(run, modules, segment, (x,), {})


def _run_head(self, inner, args, kwargs):
    if _as_it_is():
        return inner(self, *args, **kwargs)
    chain, segment = getattr(self, _CHAIN), getattr(self, _SEGMENT)
    if getattr(self, "_is_replica", False):
        raise RuntimeError(f"{', '.join(segment['modules'])} are computed as one, which DataParallel's replicas cannot "
                           "be; use DistributedDataParallel, or a plan of single modules")
    if torch.compiler.is_compiling():
        return _run_module(self, inner, args, kwargs)    # a compiler joins them: _TracedCalls
    call = _Joined(chain)
    result = _checkpointed(functools.partial(call.run, inner), chain, segment, args, kwargs, call)
    call.hand_on(result)
    return result


def _run_follower(self, inner, args, kwargs):
    if _as_it_is():
        return inner(self, *args, **kwargs)
    if torch.compiler.is_compiling():
        return _run_module(self, inner, args, kwargs)
    handed = (getattr(t, _HANDED, None) for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor))
    call = next((h[0] for h in handed if h is not None and h[0].next() is self), None)
    if call is None:
        raise RuntimeError(f"{', '.join(getattr(self, _SEGMENT)['modules'])} do not run one after another, each on "
                           "what the one before returned; checkpoint this run of modules where forward calls them")
    return call.join(self, inner, args, kwargs)


_HANDED = "_onnx_mem_handed"    # of a tensor that one module of a chain hands to the next: (their call, which result)


class _Handed:
    def __init__(self, result):
        self.result = result


class _Joined:
    """One call of checkpoint around modules that forward calls one after another, each with arguments of its own. The
    call of the first begins it, and the calls of the others join it; the second run repeats all of them."""

    def __init__(self, chain):
        self.chain, self.calls, self.first = chain, [], None    # calls: of all but the first
        self.host = None    # where its arguments wait on the host
        self.hooks, self.marks = None, {}    # of checkpoint, and what it sets on them while they are in place

    def next(self):
        return self.chain[len(self.calls) + 1]

    def run(self, inner, *args, **kwargs):
        if not self.calls:    # the first run, or one after which none came
            self.hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
            self.marks = dict(vars(self.hooks[0]))
        result = inner(self.chain[0], *args, **kwargs)
        for module, (flat, spec) in zip(self.chain[1:], self.calls):
            results = tree_leaves(result)
            flat = [results[t.result] if isinstance(t, _Handed) else t.tensor() if isinstance(t, _MovedInput) else t
                    for t in flat]
            args, kwargs = tree_unflatten(flat, spec)
            del result, results, flat
            result = type(module)._onnx_mem_base.forward(module, *args, **kwargs)
        return result

    def join(self, module, inner, args, kwargs):
        flat, spec = tree_flatten((args, kwargs))
        self.calls.append(([self.taken(t) for t in flat], spec))
        del flat
        self.first.now = [module]
        of_pack = vars(self.hooks[0])
        of_pack.update(self.marks)
        try:
            with torch.autograd.graph.saved_tensors_hooks(*self.hooks), self.first:
                result = inner(module, *args, **kwargs)
        finally:
            of_pack.pop("_user_hooks", None)
        self.hand_on(result)
        return result

    def taken(self, t):
        handed = getattr(t, _HANDED, None) if isinstance(t, torch.Tensor) else None
        if handed is None or handed[0] is not self:
            return t if self.host is None else self.host.moved_input(t, first_run=False)
        delattr(t, _HANDED)
        return _Handed(handed[1])

    def hand_on(self, result):
        if len(self.calls) + 1 == len(self.chain):
            self.hooks, self.marks = None, {}    # they hold what holds this
            self.first.finish()
            return
        for i, t in enumerate(tree_leaves(result)):
            if isinstance(t, torch.Tensor):
                setattr(t, _HANDED, (self, i))


def _run_offloaded(self, inner, args, kwargs):
    # A compiler plans the whole step's saved tensors itself: there they stay on the device.
    if _as_it_is() or torch.compiler.is_compiling():
        return inner(self, *args, **kwargs)
    call = _Offloaded([self], getattr(self, _SEGMENT)["offload"], [*args, *kwargs.values()])
    with torch.autograd.graph.saved_tensors_hooks(call.pack, _unpack):
        result = inner(self, *args, **kwargs)
    call.end_forward()
    return result


_RUNS = {"module": _run_module, "children": _run_children, "head": _run_head, "follower": _run_follower,
         "offload": _run_offloaded}


def _checkpointed(run, modules, segment, args, kwargs, joined=None):
    """`run`, which calls `modules`, in one checkpoint call. `joined`: what calls all but the first of them later."""
    # Arguments as they were at the first run: a dense block appends to the list that it hands to its layers.
    args, kwargs = [_unshared(arg) for arg in args], {key: _unshared(arg) for key, arg in kwargs.items()}
    options = {"use_reentrant": False, "preserve_rng_state": segment["preserve_rng_state"]}
    if torch.compiler.is_compiling():
        return torch.utils.checkpoint.checkpoint(run, *args, **options, **kwargs, context_fn=segment["traced"])
    keep, by_call = segment["keep"], isinstance(segment["keep"], dict)
    if by_call:
        options["preserve_rng_state"] = False    # each call that draws again has a state of its own
    else:
        keep = [getattr(packet, overload) for packet in (getattr(torch.ops.aten, name) for name in keep)
                for overload in packet.overloads()]
    make = _call_contexts if by_call else _contexts
    first, second = make(modules, segment, keep, [*args, *kwargs.values()])
    if joined is not None:
        joined.first, first.now = first, modules[:1]
    moves = segment["host"] is not None and segment["host"]["inputs"]
    if moves:    # checkpoint holds the arguments for the second run
        run, args, kwargs = _with_moved(run, second.call["host"], args, kwargs)
        if joined is not None:
            joined.host = second.call["host"]
    result = torch.utils.checkpoint.checkpoint(run, *args, **options, **kwargs, context_fn=lambda: (first, second))
    if joined is None:
        first.finish()
    return result


def _with_moved(run, host, args, kwargs):
    """`run` and its arguments, of which tensors with a gradient wait on the host from its first run on."""
    flat, spec = tree_flatten((args, kwargs))
    flat = [host.moved_input(t) for t in flat]
    args, kwargs = tree_unflatten(flat, spec)

    def run_with_tensors(*args, **kwargs):
        flat, spec = tree_flatten((args, kwargs))
        args, kwargs = tree_unflatten([t.tensor() if isinstance(t, _MovedInput) else t for t in flat], spec)
        del flat
        return run(*args, **kwargs)
    return run_with_tensors, args, kwargs


def _unshared(value):
    return type(value)(value) if type(value) in (list, dict) else value


def _contexts(modules, segment, keep, inputs):
    """What the first run and the second run under."""
    first, second = _FirstRun(modules, segment, inputs), _SecondRun(modules)
    if not keep:
        return _First(modules, first), second
    keeps, kept = torch.utils.checkpoint.create_selective_checkpoint_contexts(keep)
    return _First(modules, first, keeps), _Together(second, kept)


class _Together:
    def __init__(self, *contexts):
        self.contexts = contexts

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for context in self.contexts:
                stack.enter_context(context)
            self.stack = stack.pop_all()

    def __exit__(self, *error):
        return self.stack.__exit__(*error)


class _First(_Together):
    """What a first run runs under: once, or once for each of the modules that make it one after another, which are
    `now` then."""

    def __init__(self, modules, *contexts):
        super().__init__(*contexts)
        self.now = modules

    def __enter__(self):
        for context in self.contexts:
            context.now = self.now
        super().__enter__()

    def finish(self):
        for context in self.contexts:
            if isinstance(context, (_FirstRun, _FirstCalls)):
                context.finish()


_SEEN = weakref.WeakSet()    # modules whose first run has been looked at


class _FirstRun:
    """Refuses, in forward, what a second run would compute differently: the segment writes its input or a buffer."""

    def __init__(self, modules, segment, inputs):
        self.modules, self.segment, self.hooks, self.tensors = modules, segment, [], []
        self.seen = all(module in _SEEN for module in modules)
        if self.seen:
            return
        self.tensors = [("its input", t) for t in _tensors(inputs)]
        self.inputs = {t.untyped_storage()._cdata for _, t in self.tensors}
        for module in modules:
            for name, m in module.named_modules():
                own = ("running_mean", "running_var", "num_batches_tracked") if _has_statistics(m) else ()
                self.tensors += [(f"the buffer {name}.{b}", t) for b, t in m._buffers.items()
                                 if t is not None and b not in own]
        self.before = [_version(t) for _, t in self.tensors]

    def __enter__(self):
        for module in () if self.seen else self.now:
            self.hooks += [m.register_forward_pre_hook(self.keep_input) for m in module.modules()
                           if getattr(m, "inplace", False) is True]

    def keep_input(self, module, args):
        if any(t.untyped_storage()._cdata in self.inputs for t in _tensors(args)):
            _not_in_place(self.segment["modules"][0], module)

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()
        self.hooks = []

    def finish(self):
        for (name, t), version in zip(self.tensors, self.before if self.tensors else []):
            if _version(t) != version:
                ends = self.segment["modules"][::len(self.modules) - 1 or 1]
                raise RuntimeError(f"the segment {' to '.join(ends)} writes over {name}: a second run would start "
                                   "from something else; leave this segment out of the plan")
        _SEEN.update(self.modules)
        self.tensors = []


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for v in values for t in _tensors(v)]


def _version(t):
    return None if t.is_inference() else t._version


def _has_statistics(module):
    return getattr(module, "track_running_stats", False)


class _SecondRun:
    """Running statistics must not move a second time."""

    def __init__(self, modules):
        self.modules = modules

    def __enter__(self):
        norms = [m for module in self.modules for m in module.modules() if _has_statistics(m)]
        self.kept = [(norm, norm.momentum, norm.num_batches_tracked) for norm in norms]
        for norm, _, count in self.kept:
            norm.momentum = 0.0
            norm.num_batches_tracked = count.clone() if isinstance(norm, torch.nn.SyncBatchNorm) else None

    def __exit__(self, *error):
        for norm, norm.momentum, norm.num_batches_tracked in self.kept:
            pass
        self.kept = []


# ------------------------------------------------------------------------------------- calls that are kept or skipped
#
# With `keep` per operator call the second run of a segment does one of three things with each call: it takes the
# results that were kept, it runs the call again, or it hands out tensors without bytes, as nothing that runs reads
# them. Which are skipped follows from what is kept and from what autograd saved in the first run.

_IGNORED = torch.utils.checkpoint.SAC_IGNORED_OPS
_STATISTICS = ("running_mean", "running_var")
_ON_CPU = {    # what the CPU or a compiled step runs in place of an operator of the GPU; results 0 to 2 mean the same
    "aten.native_batch_norm.default": ("aten.cudnn_batch_norm.default",),
    "aten._native_batch_norm_legit.default": ("aten.native_batch_norm.default", "aten.cudnn_batch_norm.default"),
    "aten._scaled_dot_product_flash_attention_for_cpu.default": (
        "aten._scaled_dot_product_flash_attention.default", "aten._scaled_dot_product_efficient_attention.default"),
}
_FOUND = weakref.WeakKeyDictionary()    # by a segment's first module: {a first run: (calls that run again,
                                        # calls whose results are not kept after all)}


def _own_calls(entry, names):
    """What an entry keeps, on the device or the host: a list of operators' names as it is; of calls, {(index of the
    module, path below it, operator, how many before it): outputs}, so that no name of this model is in it."""
    keep, host = entry.get("keep") or [], _own_host(entry)
    if not isinstance(keep, dict) and "skip" not in entry and host is None:
        return list(keep)
    calls = _calls_within(entry, dict(keep))
    for key, outputs in host["calls"].items() if host else ():
        if key in calls and (not outputs or not calls[key] or set(outputs) & set(calls[key])):
            raise ValueError(f"the plan keeps {key[2]}#{key[3]} of {names[max(key[0], 0)]!r} both on the device and on "
                             "the host")
        calls[key] = [*calls.get(key, ()), *outputs]
    return calls


def _own_host(entry):
    """Which of the kept calls and of the segment's inputs wait on the host; None: none do."""
    offload = entry.get("offload")
    if not isinstance(offload, dict):
        return None
    return {"when": offload.get("when", "overlapped"), "inputs": bool(offload.get("inputs")),
            "calls": _calls_within(entry, offload.get("calls", {}))}


def _calls_within(entry, names):
    calls = {}
    for text, outputs in names.items():
        path, _, call = text.rpartition(":")
        op, _, nth = (call if "#" in call or not path else call + "#0").rpartition("#")
        if not (op and nth.isdigit()):
            raise ValueError(f"{text!r} is no call; one reads block.fc:aten.addmm.default#0")
        calls[(*_place_in(entry["modules"], path, text), _full_name(op), int(nth))] = list(outputs)
    return calls


def _full_name(op):
    """Of "addmm" and "add.Tensor": "aten.addmm.default" and "aten.add.Tensor"."""
    parts = op.split(".")
    return op if len(parts) > 2 else ".".join(["aten", *parts, "default"][:3])


def _place_in(modules, path, text):
    if not path:
        return -1, ""    # counted over the whole segment
    for i, name in enumerate(modules):
        if path == name or path.startswith(name + "."):
            return i, path[len(name) + 1:]
    raise ValueError(f"{text!r} is a call of none of the segment's modules ({', '.join(modules)})")


def _call_contexts(modules, segment, keep, inputs):
    call = _new_call(segment["modules"][0])
    host = segment["host"]
    if host is not None:
        call["host"] = _HostCall(modules, host["when"])
    first = _First(modules, _FirstRun(modules, segment, inputs),
                   _FirstCalls(modules, keep, call, host["calls"] if host else {}))
    return first, _SecondCalls(call)


def _new_call(name):
    return {"kept": {}, "ops": [], "casts": [], "again": None, "states": {}, "name": name, "host": None}


@functools.lru_cache(None)
def _writes(func):
    """(indices of the arguments that `func` writes over, index of the one that it returns or None)."""
    arguments = func._schema.arguments
    over = [i for i, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write]
    returns = any(r.alias_info is not None and r.alias_info.is_write for r in func._schema.returns)
    return over, over[0] if over and returns else None


def _written(func, args, kwargs):
    """Tensors that a call writes over."""
    names = func._schema.arguments
    return [t for i in _writes(func)[0] for t in _tensors(args[i] if i < len(args) else kwargs.get(names[i].name))]


def _weight_cast(func, args, kwargs):
    """The weight and the type to which autocast converts it. Such a conversion is made once and remembered, and the
    second run remembers others than the first did: it has no place in the order of calls."""
    if func is torch.ops.aten._to_copy.default and args[0].is_leaf and args[0].requires_grad:
        return args[0], kwargs.get("dtype")
    return None


def _casts(op):
    """A conversion of autocast: where an earlier call has converted a weight, there is none."""
    return op == "aten._to_copy.default" and any(map(torch.is_autocast_enabled, ("cpu", "cuda")))


def _draws_numbers(func):
    return torch.Tag.nondeterministic_seeded in func.tags


def _given_to(args, kwargs):
    """Tensors that a call is given, alone or in lists. Each call of a segment comes here: pytree takes ten times as
    long."""
    return _tensors(args) + _tensors(kwargs) if kwargs else _tensors(args)


def _storage_of(t):
    try:
        return StorageWeakRef(t.untyped_storage())
    except (NotImplementedError, RuntimeError):    # of a subclass without one
        return id(t)


def _flat(out):
    """What a call returns as a list, and how it is put together again: None for a tensor alone."""
    return ([out], None) if isinstance(out, torch.Tensor) else tree_flatten(out)


def _together(flat, spec):
    return flat[0] if spec is None else tree_unflatten(flat, spec)


def _on_gpu(device):
    return device.type == "cuda" and torch.cuda.is_available()


def _state_of(device):
    return torch.cuda.get_rng_state(device) if _on_gpu(device) else torch.get_rng_state()


def _set_state(device, state):
    torch.cuda.set_rng_state(state, device) if _on_gpu(device) else torch.set_rng_state(state)


class _Shape:
    """All of a tensor but its bytes."""

    def __init__(self, t):
        self.size, self.stride, self.offset = t.shape, t.stride(), t.storage_offset()
        self.dtype, self.device = t.dtype, t.device
        self.fake = t.fake_mode if isinstance(t, FakeTensor) else None

    def bare(self):
        """A tensor without bytes. Who reads it by mistake gets an error."""
        if self.fake is None and _on_gpu(self.device):    # nothing is allocated, not even for a moment
            empty = torch.empty(0, dtype=self.dtype, device=self.device)
            reach = 1 + sum((n - 1) * step for n, step in zip(self.size, self.stride))
            nbytes = max(reach, 0) * empty.element_size()
            storage = torch._C._construct_storage_from_data_pointer(0, self.device, nbytes)
            return empty.set_(storage, 0, self.size, self.stride)
        with _disable_current_modes():    # who counts bytes sees none
            device = self.device if self.fake is None else "meta"
            empty = torch.empty_strided(self.size, self.stride, dtype=self.dtype, device=device)
            empty.untyped_storage().resize_(0)
            return empty if self.fake is None else FakeTensor(self.fake, empty, self.device)


def _number_of(storages, t):
    """For the storage of `t`, one that no other has while `storages` lasts."""
    ref = _storage_of(t)
    if isinstance(ref, int):
        return ref
    storages.setdefault(ref.cdata, ref)
    return ref.cdata


class _FirstCalls(TorchDispatchMode):
    """The first run of a segment: holds what is kept, and learns what the second run can skip."""

    def __init__(self, modules, keep, call, on_host=()):
        super().__init__()
        self.modules, self.keep, self.call, self.on_host = modules, keep, call, on_host
        self.moved = {}    # storages that wait on the host: the name of the call that made each
        self.counts, self.found, self.hooks = {}, set(), []
        self.storages, self.reads, self.touches, self.views, self.results = {}, [], [], [], []
        self.made, self.kept_storages, self.saved = {}, set(), set()    # made: by which call
        self.places, self.touched, self.saving = {}, {}, None
        for i, module in enumerate(modules):
            for path, m in module.named_modules():
                self.places.setdefault(m, (i, path))

    def __enter__(self):
        for module in self.now:
            for m in module.modules():
                self.hooks.append(m.register_forward_pre_hook(lambda m, args: self.stack.append(m)))
                self.hooks.append(m.register_forward_hook(lambda m, args, out: self.leave(m), always_call=True))
        self.stack = [self.now[0]]
        if self.saving is None:
            self.watch_saved()
        return super().__enter__()

    def leave(self, module):
        if len(self.stack) > 1 and self.stack[-1] is module:
            self.stack.pop()

    def watch_saved(self):
        """Autograd hands what it saves to the hooks of checkpoint; they are called as before."""
        pack, unpack = torch._C._autograd._top_saved_tensors_default_hooks(True)
        # Not self: what autograd saves holds this hook, and so would what is kept.
        saved, storages = self.saved, self.storages

        def note(t):
            if t.numel() > 0:    # of nothing there is nothing to make again
                saved.add(_number_of(storages, t))
            return pack(t)
        self.saving = torch.autograd.graph.saved_tensors_hooks(note, unpack)
        self.saving.__enter__()
        self.watches = True

    def storage(self, t):
        return _number_of(self.storages, t)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _IGNORED:
            return func(*args, **kwargs)
        index, op = len(self.call["ops"]), str(func)
        cast = _weight_cast(func, args, kwargs)
        self.call["ops"].append(op if cast is None else None)
        if cast is not None:
            self.call["casts"].append((weakref.ref(cast[0]), cast[1], index))
        tensors = _given_to(args, kwargs)
        device = tensors[0].device if tensors else torch.device("cpu")
        keep, moved = self.kept_outputs(op, device)
        reads = {self.storage(t) for t in tensors}
        if _draws_numbers(func):
            self.call["states"][index] = device, _state_of(device)
        out = func(*args, **kwargs)
        flat, spec = _flat(out)
        given = {self.storage(t) for t in flat if isinstance(t, torch.Tensor)}
        writes = {self.storage(t) for t in _written(func, args, kwargs)}
        self.check_not_moved(writes, op)
        self.made.update(dict.fromkeys(given - reads, index))
        self.reads.append(reads)
        self.touches.append((given - reads) | writes)
        self.views.append(given if given and given <= reads and not writes else None)
        self.call["kept"][index] = spec, [_Shape(t) if isinstance(t, torch.Tensor) else t for t in flat]
        self.results.append([self.storage(t) if isinstance(t, torch.Tensor) else None for t in flat])
        for i, t in enumerate(flat):
            if isinstance(t, torch.Tensor) and keep is not None and (not keep or i in keep):
                self.hold(t, op if moved is not None and (not moved or i in moved) else None)
        return out

    def check_not_moved(self, writes, op):
        for storage in writes & self.moved.keys():
            raise RuntimeError(f"{self.call['name']}: {op} writes over what {self.moved[storage]} made, which the plan "
                               "moves to the host meanwhile: name that call under \"keep\" instead")

    def hold(self, t, moved_of=None):
        """Keeps the storage of `t`, as the result of the call that made it; one from outside is there anyway."""
        storage = self.storage(t)
        maker = self.made.get(storage)
        if maker is None or storage in self.kept_storages:
            return
        self.kept_storages.add(storage)
        flat = self.call["kept"][maker][1]
        for i, result in enumerate(self.results[maker]):
            if result == storage and moved_of is not None and self.call["host"].moves(t):
                self.moved[storage] = moved_of
                flat[i] = _Packed(self.call["host"], self.call["host"].store(t), flat[i])
            elif result == storage:
                flat[i] = t.detach().as_strided(flat[i].size, flat[i].stride, flat[i].offset)

    def kept_outputs(self, op, device):
        """(those that are kept, of them those that wait on the host): [] for all, None for none."""
        keys = []
        for place in (self.places.get(self.stack[-1], (0, "")), (-1, "")):
            nth = self.counts.setdefault((*place, op), 0)
            self.counts[(*place, op)] += 1
            names = (op, *_ON_CPU.get(op, ())) if device.type == "cpu" else (op,)
            keys += [(*place, name, nth) for name in names]
        hit = next((key for key in keys if key in self.keep), None)
        self.found.add(hit)
        return (None, None) if hit is None else (self.keep[hit], self.on_host.get(hit) if self.on_host else None)

    def __exit__(self, *error):
        super().__exit__(*error)
        if self.watches:    # those who join bring its hooks along
            self.saving.__exit__(*error)
            self.watches = False
        for hook in self.hooks:
            hook.remove()
        self.hooks = []

    def finish(self):
        self.settle()
        if self.call["host"] is not None:
            self.call["host"].end_forward()
        self.places, self.storages, self.saved = {}, {}, set()
        self.saving = None    # its hooks hold this and the segment's input, until a garbage collection

    def settle(self):
        """Leaves of what was noted what the second run needs."""
        call, known = self.call, _FOUND.setdefault(self.modules[0], {})
        what = tuple(call["ops"]), frozenset(self.made[s] for s in self.saved if s in self.made)
        if what not in known:
            self.check_found()
            again, kept = self.again()
            known[what] = again, frozenset(self.made[s] for s in self.kept_storages - kept)
        call["again"], not_kept = known[what]
        for index in call["again"]:    # of such a call some results may be kept
            if index in not_kept or not any(isinstance(t, (torch.Tensor, _Packed)) for t in call["kept"][index][1]):
                del call["kept"][index]
        call["states"] = {index: state for index, state in call["states"].items() if index in call["again"]}

    def again(self):
        """(calls that run again, storages that stay kept). A call that runs again may read a kept storage as it was
        before a later call wrote over it: such a storage is made again too."""
        kept = set(self.kept_storages)
        while True:
            again, needed = self.again_with(kept)
            late = {s for s in kept for r in again if s in self.reads[r] and s not in self.touches[r]
                    for w in self.touching(s) if w > r and w != self.made[s]}
            if not late:
                absent = self.made.keys() - kept - needed
                views = {i for i, storages in enumerate(self.views) if storages and not storages & absent}
                return frozenset(again | views), frozenset(kept)
            makers = {self.made[s] for s in late}
            kept -= {s for s in kept if self.made[s] in makers}

    def again_with(self, kept):
        """Calls that make what autograd saved and nobody kept, and what those read; with one that writes a storage all
        that write it. And the storages that they make."""
        needed = (self.saved & self.made.keys()) - kept
        again, left = set(), list(needed)
        while left:
            for index in self.touching(left.pop()):
                if index not in again:
                    again.add(index)
                    more = ((self.reads[index] | self.touches[index]) & self.made.keys()) - kept - needed
                    needed |= more
                    left += more
        return again, needed

    def touching(self, storage):
        if not self.touched:
            for index, storages in enumerate(self.touches):
                for each in storages:
                    self.touched.setdefault(each, []).append(index)
        return self.touched.get(storage, [])

    def check_found(self):
        missing = next((key for key in self.keep if key not in self.found and not _casts(key[2])), None)
        if missing is None:
            return
        i, path, op, nth = missing
        calls = sorted({f"{o}#{n}" for j, p, o, n in self.counted() if (j, p) == (i, path)})
        where = ".".join(filter(None, (self.call["name"] if i <= 0 else f"module {i} of the segment", path)))
        raise RuntimeError(f"{where} makes no call {op}#{nth}, which the plan keeps; it makes "
                           f"{', '.join(calls) or 'none'}. The plan was made for another device, precision or "
                           "version: make it again")

    def counted(self):
        return [(*key, n) for key, count in self.counts.items() for n in range(count)]


class _SecondCalls(TorchDispatchMode):
    """The second run: in the order of the first."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def __enter__(self):
        if self.call["again"] is None:
            raise RuntimeError(f"the segment that begins with {self.call['name']} has not run to its end: its modules "
                               "were not all called")
        if self.call["host"] is not None:
            self.call["host"].begin_second_run()
        self.order = iter([(i, op) for i, op in enumerate(self.call["ops"]) if op is not None])
        self.casts = list(self.call["casts"])
        return super().__enter__()

    def index_of(self, func, args, kwargs):
        """Which call of the first run this is. None: a conversion that was made before that."""
        cast = _weight_cast(func, args, kwargs)
        if cast is not None:
            same = (c for c in self.casts if c[0]() is cast[0] and c[1] == cast[1])
            found = next(same, None)
            if found is None:
                return None
            self.casts.remove(found)
            return found[2]
        index, first = next(self.order, (len(self.call["ops"]), "nothing more"))
        if first != str(func):
            raise RuntimeError(f"{self.call['name']}: call {index} of the second run is {func}, of the first run it "
                               f"was {first}; leave this segment out of the plan")
        return index

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _IGNORED:
            return func(*args, **kwargs)
        call, index = self.call, self.index_of(func, args, kwargs)
        if index is None:
            return func(*args, **kwargs)
        if index in call["again"]:
            return self.with_kept(index, self.run(func, index, args, kwargs))
        over, returned = _writes(func)
        if returned is not None:
            return args[returned]
        if index not in call["kept"]:
            raise RuntimeError(f"{call['name']}: what was kept for backward has been used; a segment with kept calls "
                               "can go backward once (retain_graph: restore(model) first)")
        spec, flat = call["kept"].pop(index)
        return _together([t.bare() if isinstance(t, _Shape) else _on_device(t) for t in flat], spec)

    def with_kept(self, index, out):
        if index not in self.call["kept"]:
            return out
        spec, kept = self.call["kept"].pop(index)
        flat = [_on_device(k) if isinstance(k, (torch.Tensor, _Packed)) else t for t, k in zip(_flat(out)[0], kept)]
        return _together(flat, spec)

    def run(self, func, index, args, kwargs):
        # Running statistics must not move a second time.
        args = [a if p.name not in _STATISTICS or a is None else None if "Optional" in str(p.type) else a.clone()
                for p, a in zip(func._schema.arguments, args)]
        if index not in self.call["states"]:
            return func(*args, **kwargs)
        device, state = self.call["states"][index]
        now = _state_of(device)
        _set_state(device, state)
        out = func(*args, **kwargs)
        _set_state(device, now)
        return out


# ------------------------------------------------------------------------------------------------ a compiler's trace
#
# A compiler traces a segment once, and marks on the nodes of its graph say what backward makes again of them. What
# nobody reads is not in the backward's graph, writes in place are none there, and numbers are drawn as the compiler
# does it: a plan is what it marks to be saved.

def _traced(value, at=0, children=()):
    """What gives a trace its contexts. Of one text: a compiler has one constant to guard, and its caches a key."""
    text = repr((value["modules"], at, list(children), value["keep"]))
    contexts = functools.partial(_traced_contexts, text)
    contexts.cache_hash = text
    return contexts


def _traced_contexts(text):
    modules, at, children, keep = ast.literal_eval(text)
    results = collections.defaultdict(dict)
    if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FUNCTIONAL) is not None:
        first = _TracedCalls(results, modules, at, children, keep)
        return first, torch.utils.checkpoint._CachedTorchDispatchMode(first.policy_fn, results, True)
    warnings.warn(f"the segment that begins with {modules[0]} is not compiled as one graph, so it runs again as a "
                  "whole: take what breaks the graph out of it, or leave it out of the plan", stacklevel=2)
    call = _new_call(modules[at])
    first = _AloneCalls([torch.nn.Module()], {}, call)
    first.now = first.modules
    return first, _SecondCalls(call)


def _mark_saved(node):
    """Of a call with several results those that backward needs are saved: a partitioner takes all marks or none."""
    call = node.args[0] if node.target is operator.getitem else node
    results = [user for user in call.users if user.target is operator.getitem]
    for each in (node, call, *results):
        each.meta["recompute"] = torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE


class _TracedCalls(torch.utils.checkpoint._CachingTorchDispatchMode):
    """The first run of a segment in a trace, or of one of the modules that are a segment together."""

    _begun = {}    # by a segment's modules, of the first: (number in the graph, counts of calls, kept calls found)

    def __init__(self, results, modules, at, children, keep):
        self.modules, self.at, self.children, self.keep = modules, at, children, keep
        self.found, self.made, self.kept = set(), {}, set()    # made: the tensor that was made with each storage
        self.counts = {}
        super().__init__(lambda *args, **kwargs: torch.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE, results)

    @property
    def ac_graph_id(self):
        return self.number

    @ac_graph_id.setter
    def ac_graph_id(self, number):
        """What passes from one number to a higher one is saved: modules that are one segment have one number."""
        if number is not None and self.at == 0:
            self._begun[tuple(self.modules)] = number, self.counts, self.found
        elif number is not None:
            number, self.counts, self.found = self._begun.get(tuple(self.modules), (number, self.counts, self.found))
        self.number = number

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = {_storage_of(t) for t in _given_to(args, kwargs or {})}
        out = super().__torch_dispatch__(func, types, args, kwargs)
        if func not in _IGNORED and get_proxy_mode() is not None:
            self.note(str(func), before, _flat(out)[0])
        return out

    def note(self, op, before, results):
        tensors = {i: t for i, t in enumerate(results) if isinstance(t, torch.Tensor)}
        for t in tensors.values():
            if _storage_of(t) not in before:
                self.made.setdefault(_storage_of(t), t)
        keep = self.kept_outputs(op)
        if keep is not None:
            self.kept |= {_storage_of(t) for i, t in tensors.items() if not keep or i in keep}

    def kept_outputs(self, op):
        """None: the call is not kept."""
        if isinstance(self.keep, list):
            return [] if op.split(".")[1] in self.keep and op.startswith("aten.") else None
        keys = []
        for place in (self.place(), (-1, "")):
            nth = self.counts.setdefault((*place, op), 0)
            self.counts[(*place, op)] += 1
            keys += [(*place, name, nth) for name in (op, *_ON_CPU.get(op, ()))]
        hit = next((key for key in keys if key in self.keep), None)
        self.found.add(hit)
        return None if hit is None else self.keep[hit]

    def place(self):
        """(index of the module, path below it) of what is being traced."""
        stack = [(name, cls) for name, cls in (traceback.current_meta.get("nn_module_stack") or {}).values()]
        if not stack:
            return self.at, ""
        planned = [name for name, cls in stack if "_onnx_mem_base" in getattr(cls, "__dict__", {})]
        path = stack[-1][0][len(planned[-1]) + 1:] if planned else stack[-1][0].partition(".")[2]
        if not self.children:
            return self.at, path
        child, _, path = path.partition(".")
        return self.children.index(child) if child in self.children else -2, path

    def __exit__(self, *error):
        super().__exit__(*error)
        tracing = get_proxy_mode()
        if tracing is None or error[0] is not None:
            return
        for t in (self.made[s] for s in self.kept if s in self.made):
            inner = t.from_functional() if isinstance(t, FunctionalTensor) else t    # after all that writes over it
            proxy = get_proxy_slot(inner, tracing.tracer, None)
            if proxy is not None:
                _mark_saved(proxy.proxy.node)
        self.made = {}
        self.check_found()

    def check_found(self):
        if isinstance(self.keep, list):
            return
        missing = [key for key in self.keep if key not in self.found and self.ends(key[0]) and not _casts(key[2])]
        if missing:
            i, path, op, nth = missing[0]
            where = ".".join(filter(None, (self.modules[max(i, 0)], path)))
            warnings.warn(f"{where}: the compiled step has no call {op}#{nth}, which the plan keeps: {len(missing)} of "
                          f"the segment's {len(self.keep)} kept calls run again", stacklevel=2)

    def ends(self, i):
        """All calls of module `i` of the segment have been seen, of -1 all of the segment."""
        last = len(self.modules) - 1
        return i == self.at or bool(self.children) or (i == -1 and self.at == last)


class _AloneCalls(_FirstCalls):
    """The first run of a segment that a compiler left to Python, which calls nothing when it has ended."""

    def __exit__(self, *error):
        super().__exit__(*error)
        self.finish()


# ----------------------------------------------------------------------------------------------- tensors on the host

_LEAST_BYTES = 65536    # smaller storages stay: their copies would take longer to start than to run
_LAST_CALL = {}         # by device: a weak reference to the offloaded call before
_STREAMS = {}           # by device: the stream on which storages move


def _moves_aside(t):
    """Its copies run beside the computation: on a CUDA device that is there."""
    return t.device.type == "cuda" and torch.cuda.is_available() and not isinstance(t, FakeTensor)


def _stream(device):
    if device not in _STREAMS:
        _STREAMS[device] = torch.cuda.Stream(device)
    return _STREAMS[device]


def _whole(t):
    """The storage of `t` in a row."""
    return t.detach().as_strided((t.untyped_storage().nbytes() // t.element_size(),), (1,), 0)


class _Stored:
    """A storage that a call saved: on the device until it has been copied, then on the host alone, from the call's
    backward on both. It ends with the last tensor that was saved on it."""

    def __init__(self, t):
        self.device, self.at = _whole(t), t.device
        self.version = self.device._version
        self.event, self.unused, self.aside = None, False, _moves_aside(t)
        self.host = torch.empty(self.device.shape, dtype=t.dtype, device="cpu", pin_memory=self.aside)
        if self.aside:
            stream = _stream(self.at)
            stream.wait_stream(torch.cuda.current_stream(self.at))
            with torch.cuda.stream(stream):
                self.host.copy_(self.device, non_blocking=True)
                self.event = stream.record_event()
        else:
            self.host.copy_(self.device)

    def leave_device(self):
        if self.device is not None and self.device._version != self.version:
            raise RuntimeError("a tensor that the plan moves to the host was written over while it was copied; leave "
                               "the module that saved it, or was given it, out of the plan")
        # The memory may be used again behind this point of the compute stream.
        if self.event is not None:
            torch.cuda.current_stream(self.at).wait_event(self.event)
        self.device = self.event = None

    def begin_return(self):
        if self.device is not None:
            return
        self.device = torch.empty(self.host.shape, dtype=self.host.dtype, device=self.at)
        if self.aside:
            stream = _stream(self.at)
            stream.wait_stream(torch.cuda.current_stream(self.at))    # what had the memory before has run
            with torch.cuda.stream(stream):
                self.device.copy_(self.host, non_blocking=True)
                self.event = stream.record_event()
            self.unused = True
        else:
            self.device.copy_(self.host)

    def on_device(self):
        if self.unused:
            torch.cuda.current_stream(self.at).wait_event(self.event)
            self.unused, self.event = False, None
        return self.device

    def __del__(self):
        if self.unused:    # nobody waited for the copy: what has the memory next must
            torch.cuda.current_stream(self.at).wait_event(self.event)


class _Stays:
    """A tensor that autograd holds as it is. Detached: an output of its own node would keep that alive."""

    def __init__(self, t):
        self.stored = t.detach()


class _Gated:
    """A tensor that autograd holds as it is, and that tells when the backward of its call begins."""

    def __init__(self, call, t):
        self.call, self.stored = call, t.detach()


class _Packed:
    """What stands in place of a tensor that is moved. `t`: it, or its shape."""

    def __init__(self, call, stored, t):
        self.call, self.stored = call, stored
        self.shape, self.stride, self.offset = (
            (t.size, t.stride, t.offset) if isinstance(t, _Shape) else (t.shape, t.stride(), t.storage_offset()))

    def tensor(self):
        self.call.begin_backward()
        return self.stored.on_device().as_strided(self.shape, self.stride, self.offset)


class _Moving:
    """One call of modules of which something moves to the host. What is "overlapped" leaves the device when the next
    such call has run, what is "waiting" when its own has, what is "held" when the next has that is not held; a "gate"
    moves nothing, and is a place for others to leave and to come back from."""

    returns_first_last = False    # backward reads first what was saved last

    def __init__(self, modules, mode, inputs=()):
        own = [t for module in modules for t in (*module.parameters(), *module.buffers())]
        # The model's inputs and masks: somebody else holds them.
        own += [t for t in _tensors(inputs) if t.grad_fn is None and not t.requires_grad]
        self.stay = {t.untyped_storage()._cdata for t in own}
        self.mode, self.stored, self.known, self.returned = mode, [], {}, False
        self.before = lambda: None
        self.device = None

    def moves(self, t):
        plain = t.layout is torch.strided and not t.is_quantized and not t.is_conj() and not t.is_neg()
        if not plain or torch.utils._python_dispatch.is_traceable_wrapper_subclass(t):
            return False
        storage = t.untyped_storage()
        base = t._base if t._is_view() else t
        return not (storage._cdata in self.stay or isinstance(base, torch.nn.Parameter)
                    or storage.nbytes() < _LEAST_BYTES)

    def store(self, t):
        """The one copy of the storage of `t` as it is now."""
        key = t.untyped_storage()._cdata, t._version, t.dtype
        stored = self.known.get(key, lambda: None)()
        if stored is None:
            stored = _Stored(t)
            self.known[key] = weakref.ref(stored)
            self.stored.append(self.known[key])
            self.device = t.device
        return stored

    def end_forward(self):
        self.known, self.stay = {}, set()
        if self.device is not None:
            self.before = _LAST_CALL.get(self.device, self.before)
            _LAST_CALL[self.device] = weakref.ref(self)
        before = self.before()
        if not (self.mode == "held" and before is not None and before.mode == "held"):
            for call in self.group_before():
                call.leave_device()
        if self.mode == "waiting":
            self.leave_device()

    def group_before(self):
        """The call before this one, and if that is held, those right before it that are held too."""
        call, group = self.before(), []
        while call is not None and (not group or call.mode == group[-1].mode == "held"):
            group.append(call)
            call = call.before()
        return group

    def leave_device(self):
        if not self.returned:
            for stored in filter(None, (ref() for ref in self.stored)):
                stored.leave_device()

    def begin_backward(self):
        if self.returned:
            return
        self.returned = True
        for call in (self, *self.group_before()):    # while this backward runs, what is needed next comes back
            call.begin_return()

    def begin_return(self):
        for ref in self.stored if self.returns_first_last else reversed(self.stored):
            stored = ref()
            if stored is not None:
                stored.begin_return()


class _Offloaded(_Moving):
    """A module whose saved tensors go to the host."""

    def pack(self, t):
        if self.mode == "gate":
            self.device = t.device
            return _Gated(self, t)
        return _Packed(self, self.store(t), t) if self.moves(t) else _Stays(t)


class _HostCall(_Moving):
    """A segment that runs again and of which kept calls, or what it is given, go to the host."""

    returns_first_last = True    # the second run reads first what the first made first

    def __init__(self, modules, mode):
        super().__init__(modules, mode)
        self.inputs = []

    def moved_input(self, t, first_run=True):
        if not (isinstance(t, torch.Tensor) and t.requires_grad and self.moves(t)):
            return t
        moved = _MovedInput(self, t, first_run)
        self.inputs.append(weakref.ref(moved))
        return moved

    def begin_second_run(self):
        self.begin_backward()
        for moved in filter(None, (ref() for ref in self.inputs)):
            moved.given = moved.packed.tensor().requires_grad_()


class _MovedInput:
    """An argument of a segment: in the first run the tensor, in the second its copy. `first_run`: the first run
    takes it from here."""

    def __init__(self, call, t, first_run):
        self.given = t if first_run else None
        self.packed = _Packed(call, call.store(t), t)

    def tensor(self):
        given, self.given = self.given, None
        return given


def _on_device(kept):
    return kept.tensor() if isinstance(kept, _Packed) else kept


def _unpack(packed):
    if isinstance(packed, _Packed):
        return packed.tensor()
    if isinstance(packed, _Gated):
        packed.call.begin_backward()
    return packed.stored
