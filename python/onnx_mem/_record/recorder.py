"""record(): a model and example inputs -> a Record."""
from __future__ import annotations

import os
import traceback
import warnings

import torch
from torch.utils._pytree import tree_leaves

from .._fake.inputs import input_names
from .._fake.precision import autocast, checked, converted, type_of
from .._fake.tensors import batch_of, fake_cuda, keeps_nothing, refuse_what_is_not_plain, resized, weightless
from ..errors import CannotRecord
from .observe import observe
from .record import MODES, Record
from .settle import program_of
from .sizes import at_batch, comparable, fit

_FRAMEWORK = os.path.dirname(torch.__file__)
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def record(model: torch.nn.Module, args, kwargs: dict | None = None, *, batch_dim=0, modes=MODES,
           precisions=()) -> Record:
    """Records what one forward of `model` runs, in evaluation and in training mode.

    Nothing is computed, no weight is read and no GPU is needed: the forward runs on tensors without data, at three
    batches, and every size becomes a function m*B + c of the batch.

    Args:
      model: on any device. It is not changed.
      args: example inputs, a tuple (a single tensor is taken as one argument). Only shapes and types matter.
      kwargs: keyword inputs.
      batch_dim: the dimension of every tensor input that is the batch, where it has the size that the first tensor has
        there; or a dict from input names (as in the signature of forward) to dimensions, for the inputs that have one.
      modes: which programs to record.
      precisions: record the model in these as well: "bf16", "fp16" (the model and its floating inputs converted),
        "amp-bf16", "amp-fp16" (forward under autocast). Casts in its code that do nothing in float32 are seen so.

    Returns:
      The record.

    Raises:
      CannotRecord: with mode, reason, and where known the module and the source line.
    """
    args = args if isinstance(args, (tuple, list)) else (args,)
    args, kwargs, precisions = tuple(args), dict(kwargs or {}), checked(precisions)
    for note in refuse_what_is_not_plain(model, (args, kwargs)):
        warnings.warn(note, stacklevel=2)
    names = input_names(model, args, kwargs)
    batch = batch_of((args, kwargs), batch_dim, names)
    try:
        return _record(model, args, kwargs, batch, batch_dim, names, modes, precisions, default_device=False)
    except CannotRecord as first:
        if "device" not in str(first):
            raise
        # A model that never ran on a GPU makes tensors without naming a device: as under torch.set_default_device.
        try:
            return _record(model, args, kwargs, batch, batch_dim, names, modes, precisions, default_device=True)
        except CannotRecord:
            raise first from first.__cause__


def _record(model, args, kwargs, batch, batch_dim, names, modes, precisions, default_device) -> Record:
    programs = {}
    for precision in (None, *precisions):
        x, kw = converted((args, kwargs), precision)
        with fake_cuda(default_device):
            try:
                fake = weightless(model, dtype=type_of(precision))
            except Exception as e:
                raise CannotRecord(f"the model cannot be copied: {type(e).__name__}: {e}") from e
            was = {m: m.training for m in fake.modules()}
            try:
                for mode in modes:
                    name = mode if precision is None else f"{mode} {precision}"
                    programs[name] = _program(fake, x, kw, batch, batch_dim, names, mode, precision)
            finally:
                for m, training in was.items():
                    m.training = training
    return Record(programs, torch.__version__)


def _program(model, args, kwargs, batch, batch_dim, names, mode, precision):
    first = max(batch, 2)                          # 1 would make dimensions that broadcast, and other strides
    batches = (first, first + 1, first + 3)
    model.train(mode == "train")

    def run(n, watch, last=False):
        x, kw = resized((args, kwargs), batch, n, batch_dim, names)
        if watch:
            return program_of(observe(model, x, kw, mode == "train", check_state=last, precision=precision))
        with torch.set_grad_enabled(mode == "train"), keeps_nothing(), autocast(precision):
            model(*x, **kw)                        # what forward caches in its first call is there after it
    try:
        run(batches[0], watch=False)
        try:
            return _merged([run(n, watch=True, last=n == batches[-1]) for n in batches], batches)
        except CannotRecord:                       # caches kept per batch: fill them at each
            found = []
            for n in batches:
                run(n, watch=False)
                found.append(run(n, watch=True, last=True))
            return _merged(found, batches)
    except Exception as e:
        raise _explained(e, mode, model) from e


def _merged(found, batches):
    a, b, c = batches
    p = fit(found[0], found[1], a, b, "program")
    if comparable(at_batch(p, c)) != comparable(found[2]):
        raise CannotRecord(f"a size is not m*B + c (batches {a}, {b}, {c})")
    return p


def _explained(error: Exception, mode: str, model: torch.nn.Module) -> CannotRecord:
    """The error with mode, module and source line: the innermost frame outside the framework and this package."""
    names = {id(m): name for name, m in model.named_modules()}
    where = module = operator = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        m = frame.f_locals.get("self")
        if isinstance(frame.f_locals.get("func"), torch._ops.OpOverload):
            operator = str(frame.f_locals["func"])
        if isinstance(m, torch.nn.Module) and id(m) in names:
            module = names[id(m)]
        if not path.startswith((_FRAMEWORK, _HERE, "<")):
            where = f"{path}:{line}"
    if isinstance(error, CannotRecord):
        reason = error.reason
    else:
        kind = type(error).__name__
        hint = {"DataDependentOutputException": "a value of a tensor is asked for (item, int, bool or a branch on it)",
                "DynamicOutputShapeException": "a shape depends on data"}.get(kind)
        reason = f"{hint}: {error}" if hint else f"{kind}: {error}"
        if operator and "NVIDIA driver" in reason:
            reason = f"operator {operator} has no kernel for tensors without data"
    return CannotRecord(reason, mode, module, where)


def tensors_in(tree) -> list[torch.Tensor]:
    """The tensor leaves of inputs, in order."""
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]
