"""Tensors without data on a CUDA device that need not exist: the mode, a weightless copy of a model, resized inputs."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Set
from typing import Any, NoReturn, TypeVar

import torch
import torch.cuda.amp.common
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorDeviceMismatchError
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from .._examples import hold_a_tensor
from ..errors import CannotRecord, Error
from .attention import attention
from .ctc import ctc_loss
from .functions import AsOnAGpu, CpuIsTheGpu
from .held import Held, copied
from .inputs import FreeDims, batch_dim_of
from .kernels import register
from .launches import launches
from .numbers import FakeMode, known, tell_constant, tell_example
from .packed import held_by_packed, pack, packed_kernels
from .recurrent import RECURRENT, recurrent
from .said import said
from .subclasses import carries, dressed, is_carried, subclasses
from .wrapped import int_mm, is_sparse, is_wrapper, parts_of, plain_leaves, wrapped_again, wrapped_of

T = TypeVar("T")

DEVICE = "cuda"
CAPABILITY = (8, 0)                 # what code that asks for it gets
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor)
_AN_INPUT = "an input"
_WRAPPERS = ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule")


@contextlib.contextmanager
def fake_cuda(default_device: bool = False) -> Iterator[None]:
    """Tensors made inside are fake; attention takes the kernel that a GPU (sm80 and later) would.

    Args:
      default_device: tensors made without a device stand on the GPU, for models that never name one.
    """
    register()
    with contextlib.ExitStack() as stack:
        stack.enter_context(FakeMode(allow_non_fake_inputs=True))
        if default_device:
            stack.enter_context(torch.device(DEVICE))
        stack.enter_context(AsOnAGpu())
        stack.enter_context(packed_kernels())
        stack.enter_context(launches())
        stack.enter_context(subclasses())
        patch(stack, torch.nn.functional, "scaled_dot_product_attention", attention)
        patch(stack, torch, "ctc_loss", ctc_loss)
        patch(stack, torch.nn.init, "trunc_normal_", lambda t, *a, **k: t)   # reads data: impossible on fake tensors
        stack.enter_context(torch.compiler.set_stance("force_eager"))        # compiled modules: as if not compiled
        stack.enter_context(torch.jit.optimized_execution(False))            # scripted functions: as if not fused
        patch(stack, torch.nn.Module, "_apply", functools.partialmethod(_apply, torch.nn.Module._apply))
        # The fused inference path of nn.TransformerEncoderLayer is no eager program and is not taken in training.
        stack.callback(torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled())
        torch.backends.mha.set_fastpath_enabled(False)
        log = logging.getLogger("torch._subclasses.fake_tensor")              # tells failures that are raised as well
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)
        for name in RECURRENT:
            patch(stack, torch._VF, name, functools.partial(recurrent, name))
        # torch.autocast("cuda") turns itself off where there is no GPU.
        patch(stack, torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
        patch(stack, torch.cuda, "is_bf16_supported", lambda *a, **k: True)
        patch(stack, torch.cuda, "get_device_capability", lambda *a, **k: CAPABILITY)
        if hasattr(products := sys.modules.get("torchao.kernel.intmm"), "safe_int_mm"):
            patch(stack, products, "safe_int_mm", int_mm)
        # transformers asks no fake tensor for its values: it would keep masks that a running model leaves out.
        if hasattr(asking := sys.modules.get("transformers.utils.import_utils"), "is_fake_tensor"):
            patch(stack, asking, "is_fake_tensor", lambda x: isinstance(x, FakeTensor) and known(x) is None)
        # Code that chooses by the module of an argument's class finds the one that it finds in a run.
        patch(stack, FakeTensor, "__module__", torch.Tensor.__module__)
        # Optimizers and clip_grad_norm_ take their foreach forms, as on a GPU.
        for module in map(importlib.import_module, ("torch.optim.optimizer", "torch.utils._foreach_utils")):
            patch(stack, module, "_foreach_supported_types", [*module._foreach_supported_types, FakeTensor])
        # There is one stream, on which all runs in order.
        for name in ("default_stream", "current_stream"):
            patch(stack, torch.cuda, name, lambda *_: _Stream())
        patch(stack, torch.cuda, "stream", lambda _: contextlib.nullcontext())
        patch(stack, torch.cuda, "Stream", _SecondStream)
        # A GPU would have the generator's state: none here, and no memory of the model's.
        patch(stack, torch, "get_rng_state", lambda: None)
        patch(stack, torch, "set_rng_state", lambda state: None)
        patch(stack, torch.random, "fork_rng", lambda *a, **k: contextlib.nullcontext())
        yield


SAID_OF_DEVICE = ("{} names the CPU as its device, as it does on a machine without a GPU: the GPU is taken in its "
                  "place")


def on_fake_cuda(what: str, run: Callable[[], T], names_cpu: bool = False) -> T:
    """`run()` inside fake_cuda(); where that fails, again with the GPU as the default device.

    names_cpu: where tensors on the CPU meet others then, once more, in which the GPU stands for a CPU that is named.

    Raises:
      Error: that of `run`; else code "cannot-measure", which says `what` does not run and how the first time failed.
    """
    made, first = _first_to_run(run, contextlib.nullcontext)
    if names_cpu and isinstance(first, FakeTensorDeviceMismatchError):
        made, first = _first_to_run(run, functools.partial(CpuIsTheGpu, DEVICE))
        if first is None:
            warnings.warn(SAID_OF_DEVICE.format(what), stacklevel=2)
    if first is not None:
        raise Error(f"{what} does not run on tensors without data: {said(first)}", "cannot-measure") from first
    return made


def _first_to_run(run: Callable[[], T], beside: Callable[[], contextlib.AbstractContextManager[Any]]) -> Any:
    """What `run()` gives and None, or None and how its first time failed: inside fake_cuda() and `beside()`, then with
    the GPU as the default device."""
    first = None
    for default_device in (False, True):
        with fake_cuda(default_device), beside():
            try:
                return run(), None
            except Error:
                raise
            except Exception as e:
                first = first or e
    return None, first


class _Stream:
    """A stream of a GPU that need not exist."""

    def synchronize(self) -> None:
        """Nothing runs on it."""


class _SecondStream:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise Error("the code moves tensors on a second stream of the GPU: when their memory is free again depends on "
                    "the clock. Where it has a choice (OffloadActivations(use_streams=False)), one stream can be "
                    "measured", "cannot-measure")


RESET_OR_DETACH = ("detach it where the model keeps it; where your loop resets the model instead, measure(step=step, "
                   "args=(x,)) of a step that does, too")


@contextlib.contextmanager
def keeps_nothing() -> Iterator[None]:
    """Autograd saves nothing inside, whatever hooks the model sets: what a first call leaves behind must not hold that
    call's graph."""
    inside = True

    def unpack(_: Any) -> NoReturn:
        if inside:
            raise Error("forward runs autograd itself (torch.autograd.grad or backward)", "cannot-measure")
        raise Error("a tensor kept from an earlier call still has its graph; a training loop would fail there "
                    f"(\"backward through the graph a second time\"): {RESET_OR_DETACH}", "cannot-measure")

    def enter(_: Any) -> None:
        torch._C._autograd._push_saved_tensors_default_hooks(lambda t: None, unpack)
    try:
        with contextlib.ExitStack() as stack:
            patch(stack, torch.autograd.graph.saved_tensors_hooks, "__enter__", enter)
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(None, None))
            yield
    finally:
        inside = False


def _apply(module: torch.nn.Module, own: Any, fn: Any, recurse: bool = True) -> Any:
    """module.to() in forward: parameters without data cannot be swapped in place, so new ones take their names."""
    if not any(isinstance(t, FakeTensor) for t in [*module.parameters(), *module.buffers()]):
        return own(module, fn, recurse)
    made: dict[int, torch.Tensor] = {}
    with torch.no_grad():
        for m in module.modules() if recurse else [module]:
            for name, p in m._parameters.items():
                if p is None:
                    continue
                t = made.setdefault(id(p), fn(p))
                m._parameters[name] = p if t is p else made.setdefault(-id(p), torch.nn.Parameter(t, p.requires_grad))
            for name, b in m._buffers.items():
                if b is not None:
                    m._buffers[name] = made.setdefault(id(b), fn(b))
    return module


def patch(stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    """Sets an attribute until the stack closes."""
    own = vars(owner) if hasattr(owner, "__dict__") else {}
    if name in own:
        stack.callback(setattr, owner, name, own[name])
    else:
        stack.callback(delattr, owner, name)
    setattr(owner, name, value)


def refuse_what_is_not_plain(model: torch.nn.Module, inputs: Any) -> list[str]:
    """Raises CannotRecord for models that have no eager program of their own; gives notes on what is recorded
    otherwise.

    Refused by type name: tensor subclasses that do not say what they wrap or that are trained, uninitialized (lazy)
    parameters, scripted modules, parallel wrappers, sparse gradients."""
    notes = []
    for path, module in model.named_modules():
        kind = type(module).__name__
        if isinstance(module, torch.jit.ScriptModule):
            raise CannotRecord("a TorchScript module has no eager program; record the Python module",
                               module=path or kind)
        if any(c.__name__ in _WRAPPERS for c in type(module).__mro__):
            raise CannotRecord(f"{kind} spreads a model over devices; record the model before it is wrapped",
                               module=path or kind)
        if kind == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None:
            notes.append(f"module '{path}' is compiled; it was recorded as if it were not, and a compiled step takes "
                         "other memory")
        if getattr(module, "sparse", False) is True and isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            raise CannotRecord("sparse=True gives sparse gradients, whose size depends on the data",
                               module=path or kind)
    named = list(model.named_parameters()) + list(model.named_buffers())
    named += [(_AN_INPUT, t) for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    for name, t in named:
        if isinstance(t, torch.nn.parameter.UninitializedTensorMixin):
            raise CannotRecord(f"'{name}' has no shape yet (a lazy module); run the model once first")
        if is_wrapper(t) and name != _AN_INPUT:
            if t.requires_grad and is_sparse(t):
                raise CannotRecord(f"'{name}' is trained and stored as {t.layout}; only strided tensors are recorded")
            if t.requires_grad:
                raise CannotRecord(f"'{name}' is a {type(t).__module__}.{type(t).__name__} that is trained; frozen "
                                   "ones alone are recorded: requires_grad_(False)")
            continue
        if not _is_plain(t) and not (isinstance(t, torch.nn.Parameter) and type(t.data) in _PLAIN_TYPES):
            raise CannotRecord(f"'{name}' is a {type(t).__module__}.{type(t).__name__}; tensor subclasses are not "
                               "recorded")
        if t.layout != torch.strided:
            raise CannotRecord(f"'{name}' is stored as {t.layout}; only strided tensors are recorded")
        if t.is_quantized:
            raise CannotRecord(f"'{name}' is quantized")
    return notes


def _is_plain(t: torch.Tensor) -> bool:
    return type(t) in _PLAIN_TYPES or is_carried(type(t)) or carries(type(t))


def refuse_what_is_strange(kinds: Any) -> None:
    """Raises CannotRecord where the operators of one of these classes of tensors are not PyTorch's own."""
    for kind in kinds:
        if kind not in _PLAIN_TYPES and not carries(kind):
            raise CannotRecord(f"forward makes a {kind.__module__}.{kind.__name__}; tensor subclasses are not recorded")


def weightless(model: torch.nn.Module, device: str = DEVICE, dtype: torch.dtype | None = None,
               given: Given | None = None) -> torch.nn.Module:
    """A copy of `model` whose parameters, buffers and plain tensor attributes are fake ones on `device`.

    Shared tensors stay shared, and so do the storages of tensors that are views of another one. No data is read. Call
    it inside fake_cuda() or another fake mode. A model that is fake there already is returned as it is.

    dtype: of floating parameters and buffers, as by model.to(dtype). given: of constants, the values."""
    if dtype is None and any(isinstance(t, FakeTensor) and t.device.type == device for t in model.parameters()):
        return model
    memo: dict[int, object] = {}
    wrapped = wrapped_of(model)
    typed = {name: t for name, t in wrapped.items() if not is_sparse(t) or t.is_floating_point()}
    if typed and dtype is not None:
        name, kind = next((name, type(t).__name__) for name, t in typed.items())
        raise CannotRecord(f"'{name}' is a {kind}, which has a type of its own: record the model in that precision "
                           "alone")
    tensors = [part for t in [*model.parameters(), *model.buffers()] for _, part in parts_of(t)]
    tensors += held_by_packed(model)
    held = Held(model)
    tensors += held.tensors
    moved = {id(t) for t in [*model.parameters(), *model.buffers()] if dtype is not None and t.is_floating_point()}
    memo.update(without_data(tensors, device, dtype, moved))
    for t in _constants(model, tensors) if given is not None and given.constants else ():
        tell_constant(memo[id(t)], t)
    pack(model, memo)
    memo.update({id(t): wrapped_again(t, memo) for t in wrapped.values()})
    memo["keep"] = tensors                     # deepcopy keys by id: the originals must outlive it
    return copied(model, held, memo)


def replace_kept(model: torch.nn.Module, other: dict[int, torch.Tensor]) -> None:
    """Where modules keep one of these tensors, by id, as an attribute or in a list, dict or object behind one, they get
    the other one for it: an input of the call before is that of this call, as in a loop that gives the same each
    time."""
    for of in Held(model).containers if other else ():
        for key, t in list(of.items() if isinstance(of, dict) else enumerate(of)):
            if isinstance(t, torch.Tensor) and id(t) in other:
                of[key] = other[id(t)]


def _constants(model: torch.nn.Module, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Those of a model's plain tensors that no step trains: neither parameters nor what shares memory with one."""
    trained = {t.untyped_storage()._cdata for of in model.parameters() for t in plain_leaves(of)}
    return [t for t in tensors if not isinstance(t, torch.nn.Parameter) and not t.requires_grad
            and t.layout is torch.strided and t.untyped_storage()._cdata not in trained]


def holds_constants(model: torch.nn.Module) -> bool:
    """Whether the model holds tensors beside its parameters."""
    return bool(_constants(model, plain_leaves([*model.buffers(), *Held(model).tensors])))


def stands_on_cpu(model: torch.nn.Module) -> bool:
    """Whether a name of the CPU in its code may mean where it stands now."""
    return all(t.device.type == "cpu" for t in [*model.parameters(), *model.buffers()])


def without_data(tensors: list[torch.Tensor], device: str = DEVICE, dtype: torch.dtype | None = None,
                 moved: Set[int] = frozenset()) -> dict[int, torch.Tensor]:
    """By id of each tensor, a fake one like it on `device`, on a storage of the same size where they share one.

    moved: ids of those that get `dtype`."""
    made: dict[int, torch.Tensor] = {}
    whole: dict[int, torch.Tensor] = {}       # by address of the storage: the tensor that spans it, as a fake one
    spans = {t.untyped_storage()._cdata: t for t in tensors
             if t.layout == torch.strided and t.numel() * t.element_size() == t.untyped_storage().nbytes() > 0}
    with torch.no_grad():
        for t in [*spans.values(), *tensors]:
            if id(t) in made:
                continue
            base = spans.get(t.untyped_storage()._cdata)
            if base is not None and base is not t and base.dtype == t.dtype and id(base) in made:
                fake = torch.as_strided(whole[id(base)], tuple(t.shape), t.stride(), t.storage_offset())
            else:
                fake = torch.empty_strided(tuple(t.shape), t.stride(), dtype=dtype if id(t) in moved else t.dtype,
                                           device=device)
            whole[id(t)] = fake
            if isinstance(t, torch.nn.Parameter):
                made[id(t)] = torch.nn.Parameter(fake, requires_grad=t.requires_grad)
            else:
                made[id(t)] = dressed(fake.requires_grad_(t.requires_grad and t.is_leaf), t)
    return made


@dataclasses.dataclass(frozen=True)
class Given:
    """What else than sizes the example inputs give.

    constants: what the model holds beside its parameters has its values, until something is written into it.
    values: integers and booleans have the values of the example, over and over where there are more of them.
    multiples: a batch dimension of a multiple of the batch follows it: the patches of all images, one after another."""
    values: bool = False
    multiples: bool = False
    constants: bool = False

    def follows(self, size: int, batch: int) -> bool:
        """Whether a dimension of this size grows with the batch."""
        return size > 0 and size % batch == 0 if self.multiples else size == batch


NOTHING = Given()


def batch_of(inputs: Any, batch_dim: Any, names: list[str]) -> int:
    """The batch that the example inputs have: the size of the batch dimension of the first tensor that has one."""
    for t, name in zip((t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)), names, strict=False):
        dim = batch_dim_of(batch_dim, name)
        if dim is not None and t.dim() > dim:
            return t.shape[dim]
    hold_a_tensor(*inputs)
    raise CannotRecord("no input has a batch dimension")


def resized(inputs: Any, old: int, new: int, batch_dim: Any, names: list[str], free: FreeDims | None = None,
            length: int | None = None, given: Given = NOTHING) -> Any:
    """Fresh fake inputs for batch `new`: the batch dimension of every tensor that has size `old` there. With `free`,
    the dimensions that it names are `length` where they were its own."""
    leaves, spec = tree_flatten(inputs)
    names_left, seen, out = iter(names), {}, []
    for t in leaves:
        if not isinstance(t, torch.Tensor):
            out.append(t)
            continue
        name = next(names_left)
        if id(t) not in seen:
            shape, dim = list(t.shape), batch_dim_of(batch_dim, name)
            if dim is not None and len(shape) > dim and given.follows(shape[dim], old):
                shape[dim] = shape[dim] // old * new
            for at in free.of(name) if free is not None and length is not None else ():
                if len(shape) > at and t.shape[at] == free.length:
                    shape[at] = length
            if t.is_contiguous() or list(t.shape) == shape:
                strides = t.stride() if list(t.shape) == shape else None
            else:
                strides = torch.empty(shape, device="meta").to(memory_format=_memory_format(t)).stride()
            fake = (torch.empty(shape, dtype=t.dtype, device=DEVICE) if strides is None else
                    torch.empty_strided(shape, strides, dtype=t.dtype, device=DEVICE))
            seen[id(t)] = dressed(fake.requires_grad_(t.requires_grad and t.is_leaf), t)
            if given.values:
                tell_example(fake, t)
        out.append(seen[id(t)])
    return tree_unflatten(out, spec)


def _memory_format(t: torch.Tensor) -> torch.memory_format:
    if t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last):
        return torch.channels_last
    if t.dim() == 5 and t.is_contiguous(memory_format=torch.channels_last_3d):
        return torch.channels_last_3d
    return torch.contiguous_format
