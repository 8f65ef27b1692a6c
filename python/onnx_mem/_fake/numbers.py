"""Values of tensors without data that follow from sizes, from integers that were given, or from what the model holds
and nothing writes, for code that asks: torch.arange(1, x.dim()).tolist(), `if (position_ids.diff() != 1).any()`,
features[ids == image_token], `if (times.diff() <= 0).any()`."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
_FACTORIES = {aten.arange, aten.linspace, aten.logspace, aten.eye, aten.full, aten.ones, aten.zeros, aten.scalar_tensor,
              aten.tril_indices, aten.triu_indices, aten.bartlett_window, aten.blackman_window, aten.hamming_window,
              aten.hann_window, aten.kaiser_window}
_LIFTS = {aten.lift_fresh.default, aten.lift_fresh_copy.default}      # torch.tensor([2, 2]), torch.tensor(0.5)
_READS = {aten._local_scalar_dense.default, aten.equal.default, aten.allclose.default}     # give a number of Python
# Row-major whatever their first argument is, as SoftMax.cpp and LossCTC.cu have it: a tensor without data would get the
# strides of the gradient, or has no kernel. The type that each gives.
_DENSE = {aten._ctc_loss_backward.Tensor: lambda args: args[1].dtype,
          aten._log_softmax_backward_data.default: lambda args: args[3]}
# Of two layouts a kernel takes that of the gradient, its first operand; a tensor without data would get the other one.
# Where each has what it meets (borrowing_binary_op in Activation.cpp, UnaryOps.cpp).
_LIKE_GRADIENT = {aten.elu_backward.default: 5, aten.hardsigmoid_backward.default: 1,
                  aten.hardswish_backward.default: 1, aten.hardtanh_backward.default: 1,
                  aten.logit_backward.default: 1, aten.softplus_backward.default: 1}
_WRITTEN_OVER = -1                      # no version of a tensor
_MOST = 1 << 20                         # elements of a tensor whose values are worked out: positions, no masks


@dataclasses.dataclass
class _Writes:
    """One for a tensor and its views.

    version: the count of writes behind which the values are. constant: no write may follow, of known values neither."""
    version: int
    constant: bool = False


class _Values(NamedTuple):
    """What a fake tensor has known values by."""
    value: torch.Tensor     # on the host; that of a view is a view of that of its base
    writes: _Writes
    storage: int            # where they stand: `t.data = other` counts as no write


def known(t: torch.Tensor) -> torch.Tensor | None:
    """The values of a fake tensor, on the host; None where they depend on data."""
    values = getattr(t, "_onnx_mem_known", None)
    if values is None or t.is_inference() or t._version != values.writes.version:
        return None
    return values.value if _storage_of(t) == values.storage else None


def _storage_of(t: torch.Tensor) -> int:
    return t.untyped_storage()._cdata


_expected: dict[Any, list[dict[str, Any]]] = {}


@contextlib.contextmanager
def expected(func: Any, results: list[dict[str, Any]]) -> Iterator[None]:
    """Inside, this operator gives these results (shape, strides, dtype) where values say their lengths."""
    _expected[func] = results
    try:
        yield
    finally:
        del _expected[func]


def tell(t: torch.Tensor, value: torch.Tensor, base: torch.Tensor | None = None) -> None:
    """From here on the fake tensor has these values, until something that is not known is written into it.

    base: what `t` is a view of, as `value` is of the values of that."""
    of_base = getattr(base, "_onnx_mem_known", None)
    t._onnx_mem_known = _Values(value, of_base.writes if of_base is not None else _Writes(t._version), _storage_of(t))


def forget(t: torch.Tensor) -> None:
    """What is not seen here may have written into the tensor, and so into what it is a view of."""
    of = getattr(t, "_onnx_mem_known", None)
    if of is not None:
        of.writes.version = _WRITTEN_OVER


def tell_example(t: torch.Tensor, example: torch.Tensor) -> None:
    """Tells the values of an example, over and over in each dimension where `t` is longer. Not of numbers that a model
    computes with (floating ones), nor of an example that has no data."""
    if example.is_floating_point() or example.is_complex() or not _is_small(t, example):
        return
    with no_dispatch():
        value = example.detach().cpu().clone()
        for dim, size in enumerate(t.shape):
            value = value.index_select(dim, torch.arange(size) % value.shape[dim])
    tell(t, value)


def tell_constant(t: torch.Tensor, held: torch.Tensor) -> None:
    """Tells the values of what a model holds beside its parameters, until anything is written into it: a counter, or
    statistics of what the model saw, have others in each step."""
    if not _is_small(t, held):
        return
    with no_dispatch():
        value = held.detach().to("cpu", t.dtype, copy=True)
    tell(t, value)
    t._onnx_mem_known.writes.constant = True


def _is_small(t: torch.Tensor, example: torch.Tensor) -> bool:
    """Whether `t` may have the values of an example, and that one has some."""
    return t.numel() <= _MOST and example.numel() > 0 and not isinstance(example, FakeTensor) and not example.is_meta


def _worked_out(func: Any, args: Any, kwargs: dict[str, Any]) -> torch.Tensor | None:
    """What `func` gives on the host; None where it draws numbers, writes, or reads what decides it and is not known."""
    if func._schema.is_mutable:
        return None
    if func in _LIFTS and isinstance(args[0], torch.Tensor) and not isinstance(args[0], FakeTensor):
        return args[0].clone() if args[0].device.type == "cpu" else None
    value = _on_host(func, args, kwargs)
    return _certain(func, args) if value is None else value


def _on_host(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    leaves = tree_leaves((args, kwargs))
    if torch.Tag.nondeterministic_seeded in func.tags:
        return None
    tensors = [a for a in leaves if isinstance(a, torch.Tensor)]
    if any(known(t) is None for t in tensors) or any(isinstance(a, (torch.SymInt, torch.SymBool)) for a in leaves):
        return None
    if not tensors and func.overloadpacket not in _FACTORIES:
        return None

    def on_host(a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            return known(a)
        return torch.device("cpu") if isinstance(a, torch.device) else a
    host_args, host_kwargs = tree_map(on_host, (args, kwargs))
    try:
        with no_dispatch():
            return func(*host_args, **host_kwargs)
    except (RuntimeError, NotImplementedError):      # no kernel of this kind on the host
        return None


# What kernels write though their schema does not say so: the statistics of batch_norm.
_WRITTEN_SILENTLY = {"running_mean", "running_var"}


@functools.cache
def _written(func: Any) -> frozenset[str]:
    """Names of the arguments that an operator may write into."""
    return frozenset(a.name for a in func._schema.arguments
                     if a.name in _WRITTEN_SILENTLY or a.alias_info is not None and a.alias_info.is_write)


def _write(func: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """What an operator writes into is known no longer, but by one in place of values that are known: it writes into its
    first argument alone."""
    names = _written(func)
    of = getattr(args[0], "_onnx_mem_known", None) if args else None
    if of is not None and names == {func._schema.arguments[0].name} and not of.writes.constant:
        if known(args[0]) is not None and _on_host(func, args, kwargs) is not None:
            of.writes.version += 1                   # autograd counts the write when this has returned
            return
    given = {a.name: x for a, x in zip(func._schema.arguments, args, strict=False)} | kwargs
    for t in tree_leaves([given.get(name) for name in names]):
        if isinstance(t, torch.Tensor):
            forget(t)


# torch.rand lies in [0, 1): whether one comparison with what is 0 or less holds. With 1 or more it is the other way
# round.
_OF_UNIFORM = {aten.gt.Scalar: True, aten.ge.Scalar: True, aten.lt.Scalar: False, aten.le.Scalar: False}


_OF_FINITE = {aten.isinf.default, aten.isnan.default}


def _is_trained(t: torch.Tensor) -> bool:
    """Whether it is a parameter, or a view of one."""
    of = t._base if t._is_view() else t
    return of is not None and of.is_leaf and of.requires_grad


def _certain(func: Any, args: Any) -> torch.Tensor | None:
    """What holds whatever the values are: checks of arguments in torch.distributions and torch._check_tensor_all, which
    raise otherwise; torch.rand(1) > 0.0, a draw that a probability of 0 or 1 decides. And parameters that are trained
    are finite: one that is not makes the loss so, and no step follows that trains."""
    if func is aten._is_all_true.default:
        shape, holds = (), True
    elif func in _OF_FINITE and _is_trained(args[0]):
        shape, holds = args[0].shape, False
    elif func in _OF_UNIFORM and getattr(args[0], "_onnx_mem_uniform", False) and not 0 < args[1] < 1:
        shape, holds = args[0].shape, _OF_UNIFORM[func] == (args[1] <= 0)
    else:
        return None
    with no_dispatch():
        return torch.full(shape, holds)


class DrawnNumber(DataDependentOutputException):
    """The code needs the value of a number that the framework's generator draws."""

    def __str__(self) -> str:
        return ("a number drawn at random decides what runs; set what it decides (a probability to drop layers) to "
                "0: that step needs the most")


def _is_drawn(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether nothing but drawn numbers is in the results: torch.rand([]) < 0.1, not what dropout gives."""
    drawn = [getattr(t, "_onnx_mem_drawn", False) for t in tree_leaves((args, kwargs))
             if isinstance(t, torch.Tensor) and known(t) is None]
    return all(drawn) and (bool(drawn) or torch.Tag.nondeterministic_seeded in func.tags)


class FakeMode(FakeTensorMode):
    """Tensors without data, except where the values follow from arguments alone (positions, masks of ones, numbers),
    from integers that were given, or from constants of the model (tell_example, tell_constant)."""
    _has_drawn = False      # a number that was drawn: until then no operator is looked through for one

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():     # kernels in Python of tensors without data
            return self._dispatched(func, types, args, kwargs)

    def _dispatched(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any] | None) -> Any:
        if func in _READS:
            if (answer := _on_host(func, args, kwargs or {})) is not None:
                return answer
            if getattr(args[0], "_onnx_mem_drawn", False):
                raise DrawnNumber(func)
        try:
            if func in _DENSE:
                out = self._empty(args[1].shape, None, _DENSE[func](args), args[1].device)
            elif func in _LIKE_GRADIENT:
                out = super().dispatch(aten.mul.Tensor, types, (args[0], args[_LIKE_GRADIENT[func]]))
            else:
                out = super().dispatch(func, types, args, kwargs)
        except DynamicOutputShapeException:
            if (out := self._of_known_count(func, types, args, kwargs or {})) is None:
                raise
        made = list(out) if isinstance(out, (tuple, list)) else [out]         # unbind, which tolist() is made of
        worth = isinstance(func, torch._ops.OpOverload) and made and all(
            isinstance(t, FakeTensor) and t.numel() <= _MOST and not t.is_inference() for t in made)
        values = _worked_out(func, args, kwargs or {}) if worth else None
        for t, value in zip(made, values if isinstance(values, (tuple, list)) else [values], strict=False):
            if isinstance(value, torch.Tensor):
                tell(t, value, args[0] if func.is_view else None)
        if isinstance(func, torch._ops.OpOverload):
            if _written(func):
                _write(func, args, kwargs or {})
            if (self._has_drawn or torch.Tag.nondeterministic_seeded in func.tags) and _is_drawn(func, args, kwargs):
                self._has_drawn = True
                for t in made:
                    if isinstance(t, FakeTensor):
                        t._onnx_mem_drawn, t._onnx_mem_uniform = True, func is aten.rand.default
        return out

    def _of_known_count(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What an operator gives whose result is as long as values say; None where those are not known."""
        if func in _expected:
            made = [self._empty(v["shape"], v["strides"], getattr(torch, v["dtype"]), args[0].device)
                    for v in _expected[func]]
            return made[0] if len(made) == 1 else tuple(made)
        if func is aten.masked_select.default:
            read, mask = torch.broadcast_tensors(args[0], args[1])
            return read[mask] if known(mask) is not None else None
        if func is aten._ctc_loss.Tensor:
            return self._of_ctc(args[0], known(args[3]))
        value = _worked_out(func, args, kwargs)
        if not isinstance(value, torch.Tensor):
            return None
        return self._empty(value.shape, value.stride(), value.dtype, args[0].device)

    def _of_ctc(self, x: torch.Tensor, lengths: torch.Tensor | None) -> Any:
        """Losses, and log_alpha, which is as wide as the longest target (ctc_loss_gpu_template of cuda/LossCTC.cu)."""
        if lengths is None:
            return None
        shapes = (x.shape[1],), (x.shape[1], x.shape[0], 2 * int(lengths.max()) + 1)
        return tuple(self._empty(shape, None, x.dtype, x.device) for shape in shapes)

    def _empty(self, shape: Any, strides: Any, dtype: torch.dtype, device: torch.device) -> FakeTensor:
        with no_dispatch():
            made = (torch.empty(shape, dtype=dtype, device="meta") if strides is None else
                    torch.empty_strided(shape, strides, dtype=dtype, device="meta"))
            return FakeTensor(self, made, device)
