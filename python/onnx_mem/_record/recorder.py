"""record(): a model and example inputs -> a Record."""
from __future__ import annotations

import contextlib
import dataclasses
import gc
import inspect
import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorDeviceMismatchError
from torch.utils._pytree import tree_leaves

from .. import _progress
from .._examples import examples
from .._fake.compiled import compiled_calls
from .._fake.functions import CpuIsTheGpu
from .._fake.given import SAID_OF_VALUES, first_given
from .._fake.held import Held
from .._fake.inputs import FreeDims, free_dims, input_names
from .._fake.precision import autocast, checked, converted, type_of
from .._fake.said import said
from .._fake.tensors import (
    DEVICE,
    NOTHING,
    SAID_OF_DEVICE,
    Given,
    batch_of,
    fake_cuda,
    holds_constants,
    keeps_nothing,
    refuse_what_is_not_plain,
    replace_kept,
    resized,
    stands_on_cpu,
    weightless,
)
from .._types import BatchDim, FreeSize, Input, Mode, Module, Precision
from ..errors import CannotRecord, Error, reported
from . import chance
from .formulas import with_formulas
from .observe import observe
from .record import MODES, Free, Record
from .reruns import learn
from .settle import program_of
from .sizes import alike, at_batch, at_length, comparable, fit, fit_lengths

_FRAMEWORK = os.path.dirname(torch.__file__)
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Steps of the length that are tried, and how far from the first the others are at which the model is watched: any
# length, or those that windows and padding to such a multiple leave. What is rounded up, to 32 or 64, shows within.
_FAR = 1031          # a batch that branches on the batch have behind them
_KNOWN = 1 << 19     # elements whose values are known
_AHEAD = {1: (1, 33, 67, 131), 8: (8, 40, 72, 136), 32: (32, 64, 128, 224), 64: (64, 128, 256, 448)}


@reported
def record(model: Module | None = None, args: object = (), *rest: object,
           kwargs: Mapping[str, object] | None = None, step: Callable[..., object] | None = None,
           batch_dim: BatchDim = 0, free: FreeSize | None = None, modes: Sequence[Mode] = MODES,
           precisions: Precision | Sequence[Precision] = (), **inputs: Input) -> Record:
    """Records what one forward of `model` runs, in evaluation and in training mode.

    Nothing is computed, no weight is read and no GPU is needed: the forward runs on tensors without data, at three
    batches, and every size becomes a function m*B + c of the batch.

    Args:
      model: on any device. It is not changed.
      args, kwargs, inputs: example inputs, as a tuple, one after the other or by name. Shapes and types matter; where
        forward asks for values (ids == image_token), those of integers and booleans as well.
      batch_dim: the dimension of every tensor input that is the batch, where it has the size that the first tensor has
        there; or a dict from input names (as in the signature of forward) to dimensions, for the inputs that have one.
      free: one more size that stays free, by a name of yours: {"seq": 1} for dimension 1 of every tensor input,
        where it has the size that the first tensor has there; {"seq": {"ids": 1, "mask": (2, 3)}} for those of the
        inputs named. The model is then watched at five lengths, and sizes become functions of the length, of degree 2
        at most. Where they are none a warning says so, and only the batch is free.
      step: record a training step of your own instead, as of measure(): each storage with its life and its size. The
        program replays it at other batches; it makes no plan of it. `modes` and `precisions` are not for it.
      modes: which programs to record.
      precisions: record the model in these as well: "bf16", "fp16" (the model and its floating inputs converted),
        "amp-bf16", "amp-fp16" (forward under autocast). Casts in its code that do nothing in float32 are seen so.

    Returns:
      The record.

    Raises:
      CannotRecord: with mode, reason, and where known the module and the source line.
    """
    args, kwargs = examples(args, rest, kwargs, inputs)
    precisions = checked(precisions)
    if step is not None:
        from .own_step import record_step
        if tuple(modes) != MODES or precisions:
            raise Error("a step of your own is what it is: record(step=...) takes batch_dim and free beside the inputs",
                        "bad-option")
        made, notes = record_step(step, model, args, kwargs, batch_dim, free)
        for note in notes:
            warnings.warn(note, stacklevel=3)
        return made
    if not isinstance(model, torch.nn.Module):
        raise Error("record wants a model, or a step of your own\n  try: onnx_mem.record(model, x), or "
                    "onnx_mem.record(step=step, args=(x, y))", "bad-argument")
    notes = refuse_what_is_not_plain(model, (args, kwargs))
    names = input_names(model, args, kwargs)
    batch = batch_of((args, kwargs), batch_dim, names)
    dims = free_dims(free, (args, kwargs), names, batch_dim)

    def recorded(given: Given) -> tuple[Record, CannotRecord | None]:
        def of_grid(grid: Any) -> Record:
            runs = _Runs(batch, batch_dim, names, dims, grid, given)
            return _with_a_device(model, args, kwargs, runs, modes, precisions)
        while True:
            try:
                return _first_that_fits(of_grid, _grids(dims.length) if dims is not None else ())
            except CannotRecord as e:
                if not learn(e):
                    raise
    with chance.left_as_they_were(), _older_objects_aside(), compiled_calls() as compiled:
        (made, why), given = first_given(recorded, holds_constants(model))
    if given.values:
        notes.append(SAID_OF_VALUES)
    if compiled and not notes:
        notes.append("forward calls a compiled function; it was recorded as if it were not compiled, and a compiled "
                     "step takes other memory")
    if why is not None:
        notes.append(f"the record follows the batch alone, '{dims.name}' is {dims.length} in it: {why.reason}")
    if made.batches != (1, None):
        notes.append(_said_of_range(*made.batches))
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return made


def _said_of_range(first: int, last: int | None) -> str:
    if first == last:
        return (f"forward takes another path at each batch: the record holds for batch {first} alone; record it with "
                "inputs of the batch that you ask for")
    below = f"below batch {first}" if first > 1 else ""
    above = f"from batch {last + 1} on" if last is not None else ""
    return (f"forward takes another path {' and '.join(x for x in (below, above) if x)}: the record holds for "
            + (f"batches {first} to {last}" if last is not None else f"batch {first} and more")
            + "; for another one, record it with inputs of that batch")


@contextlib.contextmanager
def _older_objects_aside() -> Iterator[None]:
    """Collections inside do not look through what was there before: the framework is half a second each time."""
    if gc.get_freeze_count():                      # somebody's own
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _first_that_fits(recorded: Any, grids: Any) -> tuple[Record, CannotRecord | None]:
    """The record of the first grid that the model follows, else of the batch alone and why it follows none."""
    why = None
    for grid in grids:
        try:
            return recorded(grid), None
        except CannotRecord as e:
            why = why or e
    return recorded(None), why                     # what cannot be recorded at all says so


@dataclasses.dataclass(frozen=True)
class _Grid:
    """Lengths to watch the model at: four that sizes are fitted to, and one to check them."""
    lengths: tuple[int, ...]
    check: int
    step: int


def _grids(length: int) -> Iterator[Any]:
    """Up to the example's length where that is long enough, else from it on, in steps as small as the model allows."""
    for step, ahead in _AHEAD.items():
        for first in (length - ahead[-1], length):
            if first == length or first >= length // 2:
                yield _Grid((first, *(first + n for n in ahead[:-1])), first + ahead[-1], step)


@dataclasses.dataclass(frozen=True)
class _Runs:
    """At which sizes the model is watched."""
    batch: int
    batch_dim: object
    names: list[str]
    free: FreeDims | None
    grid: _Grid | None
    given: Given = NOTHING

    def inputs(self, x: Any, batch: int, length: int | None) -> Any:
        return resized(x, self.batch, batch, self.batch_dim, self.names, self.free, length, self.given)

    @property
    def batches(self) -> tuple[int, int, int]:
        first = max(self.batch, 2)                 # 1 would make dimensions that broadcast, and other strides
        return first, first + 1, first + 3

    @property
    def others(self) -> list[tuple[int, int, int]]:
        """Where the code branches within `batches`: batches on either side of the branch, the example's among them."""
        n = max(self.batch, 2)
        return [x for x in ((n, n - 1, n - 3), (n, n - 1, n + 1), (n, n + 1, n + 2)) if min(x) >= 2]

    @property
    def multiples(self) -> tuple[int, int, int]:
        """Where the code runs at the example's batch and not at the next one."""
        n = max(self.batch, 2)
        return n, 2 * n, 4 * n

    def far(self, inputs: Any) -> int:
        """A batch at which a branch would show. Values of positions are worked out for so many alone."""
        sizes = [t.numel() // self.batch for t in tensors_in(inputs) if not t.is_floating_point()]
        return min(_FAR, _KNOWN // max([1, *sizes]))

    def declared(self) -> Free | None:
        if self.grid is None:
            return None
        return Free(self.free.name, self.free.length, self.grid.step, self.grid.lengths[0], self.grid.check)


def _with_a_device(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], runs: Any, modes: Any,
                   precisions: Any) -> Record:
    try:
        return _record(model, args, kwargs, runs, modes, precisions, default_device=False)
    except CannotRecord as e:
        if "device" not in str(e):
            raise
        first = e
    # A model that never ran on a GPU makes tensors without naming a device: as under torch.set_default_device.
    with contextlib.suppress(CannotRecord):
        return _record(model, args, kwargs, runs, modes, precisions, default_device=True)
    if not (stands_on_cpu(model) and isinstance(first.__cause__, FakeTensorDeviceMismatchError)):
        raise first from first.__cause__
    made = _record(model, args, kwargs, runs, modes, precisions, False, CpuIsTheGpu(DEVICE))
    warnings.warn(SAID_OF_DEVICE.format("the model"), stacklevel=2)
    return made


def _record(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], runs: Any, modes: Any, precisions: Any,
            default_device: bool, beside: contextlib.AbstractContextManager[Any] | None = None) -> Record:
    programs, ranges = {}, []
    for precision in (None, *precisions):
        x = converted((args, kwargs), precision)
        with fake_cuda(default_device), beside or contextlib.nullcontext():
            try:
                fake = weightless(model, dtype=type_of(precision), given=runs.given)
            except Exception as e:
                raise CannotRecord(f"the model cannot be copied: {type(e).__name__}: {e}") from e
            was, own = {m: m.training for m in fake.modules()}, Held(fake).tensors
            try:
                for mode in modes:
                    name = mode if precision is None else f"{mode} {precision}"
                    found, holds = _programs(fake, x, runs, mode, precision, own)
                    ranges.append(holds)
                    for n, program in found.items():
                        programs[name if n is None else f"{name} at {n}"] = program
            finally:
                for m, training in was.items():
                    m.training = training
    first = max(holds[0] for holds in ranges)
    return Record(programs, torch.__version__, runs.declared(),
                  (first, min((holds[1] for holds in ranges if holds[1] is not None), default=None)))


def _programs(model: torch.nn.Module, inputs: Any, runs: Any, mode: str, precision: Any,
              own: list[torch.Tensor]) -> tuple[dict[int | None, dict[str, Any]], tuple[int, int | None]]:
    """The program of any batch, by None, and where that is another one the program of batch 1; the first and the last
    batch that they hold for. own: tensors that the model held before it ran."""
    model.train(mode == "train")
    before_it: list[torch.Tensor] = []

    def run(n: Any, length: Any, watch: Any, last: bool = False) -> Any:
        at = f", {runs.free.name} {length}" if length else ""
        _progress.step(f"{mode} {precision or ''}".rstrip() + f", batch {n}{at}")
        x, kw = runs.inputs(inputs, n, length)
        replace_kept(model, dict(zip(map(id, before_it), tensors_in((x, kw)), strict=False)))
        before_it[:] = tensors_in((x, kw))
        if watch:
            seen = observe(model, x, kw, mode == "train", check_state=last, precision=precision, own=own)
            return program_of(with_formulas(seen))
        with torch.set_grad_enabled(mode == "train"), keeps_nothing(), autocast(precision):
            model(*x, **kw)                        # what forward caches in its first call is there after it
    before = chance.state()
    try:
        try:
            found = {None: _of_batches(run, runs) if runs.grid is None else _of_lengths(run, runs)}
        except Exception as e:
            refused = isinstance(e, CannotRecord)
            if refused and chance.state() != before:
                raise CannotRecord(f"{_DRAWN}, and takes another path by them ({e.reason})") from e
            no_repetition_fits = not refused and runs.given.multiples and runs.grid is None  # many lengths
            if not isinstance(e, _Branches) and not no_repetition_fits:
                raise
            return {None: _of_one_batch(run, runs, e)}, (runs.batch, runs.batch)
        if chance.state() != before:
            _refuse_other_draws(run, runs, found[None])
        alone = _of_one_sample(run, runs, found[None])
        holds = _range(run, runs, found[None], inputs) if precision is None else (1, None)
        return (found if alone is None else {**found, 1: alone}), holds
    except Exception as e:
        raise _explained(e, mode, model, inputs) from e


_DRAWN = "forward draws numbers in Python (random, numpy)"


def _refuse_other_draws(run: Any, runs: Any, program: Any) -> None:
    """Raises CannotRecord where another number is another program."""
    batch, length = runs.batches[0], runs.grid and runs.grid.lengths[0]
    expected = comparable(at_batch(at_length(program, length), batch))
    for number in range(chance.DRAWS):
        chance.seed(number)
        if comparable(run(batch, length, watch=True)) != expected:
            raise CannotRecord(f"{_DRAWN}, and takes another path by them; set what they decide (a probability to "
                               "drop layers, say) to never")


def _of_one_sample(run: Any, runs: Any, program: Any) -> Any:
    """The program of batch 1, where dimensions broadcast and what is strided elsewhere is contiguous; None where it
    is that of the others, and where the model does not run at it."""
    def others(length: Any) -> Any:
        return at_batch(at_length(program, length), 1)

    def watched(length: Any) -> Any:
        found = run(1, length, watch=True)
        if not alike(found, others(length)):       # a cache of this batch may have been made in it
            found = run(1, length, watch=True)
        return found
    try:
        if runs.grid is None:
            found = watched(None)
            return None if alike(found, others(None)) else found
        lengths, check = runs.grid.lengths, runs.grid.check
        there = watched(check)
        if alike(there, others(check)):
            return None
        found = fit_lengths([watched(n) for n in lengths], lengths)
        return found if comparable(at_length(found, check)) == comparable(there) else None
    except Exception:  # as BatchNorm, which wants more than one
        return None


def _range(run: Any, runs: Any, program: Any, inputs: Any) -> tuple[int, int | None]:
    """The first and the last batch that take the path of `program`; None: no last one is known. A run that fails says
    nothing of the path."""
    length = runs.grid and runs.grid.lengths[0]

    def takes_it(n: Any) -> Any:
        try:
            expected = comparable(at_batch(at_length(program, length), n))
            # What forward caches for a batch is there in the second run.
            return any(comparable(run(n, length, watch=True)) == expected for _ in range(2))
        except Exception:
            return True

    def edge(within: Any, beyond: Any) -> Any:
        while abs(beyond - within) > 1:
            middle = (within + beyond) // 2
            within, beyond = (middle, beyond) if takes_it(middle) else (within, middle)
        return within
    far, there = runs.far(inputs), max(runs.batch, 2)
    last = None if far <= there + 3 or takes_it(far) else edge(there, far)
    return 1 if there < 3 or takes_it(2) else edge(there, 2), last


def _of_batches(run: Any, runs: Any) -> Any:
    """One program whose sizes follow the batch."""
    try:
        return _at_batches(run, runs.batches)
    except _Branches as e:
        for batches in runs.others:
            with contextlib.suppress(CannotRecord):
                return _at_batches(run, batches)
        raise e
    except Exception:
        if not _runs_at(run, runs.batch):
            raise
        with contextlib.suppress(Exception):       # matrices of float8 want sizes that 16 divides
            made = _at_batches(run, runs.multiples)
            warnings.warn("the code runs at some batches alone, {}, {} and {} among them: at one at which it does not "
                          "run, what the record says is of no run".format(*runs.multiples), stacklevel=2)
            return made
        raise


def _runs_at(run: Any, batch: int) -> bool:
    try:
        run(batch, None, watch=True)
    except Exception:
        return False
    return True


def _of_one_batch(run: Any, runs: Any, branches: Any) -> Any:
    """The program of the example's batch alone, of code with a line for each sample."""
    run(runs.batch, None, watch=False)
    found = run(runs.batch, None, watch=True)
    if comparable(found) != comparable(run(runs.batch, None, watch=True, last=True)):
        raise branches
    return found


class _Branches(CannotRecord):
    """Programs of several batches that are not one."""


def _at_batches(run: Any, batches: Any) -> Any:
    run(batches[0], None, watch=False)
    try:
        return _merged([run(n, None, watch=True, last=n == batches[-1]) for n in batches], batches)
    except CannotRecord:                           # caches kept per batch: fill them at each
        found = []
        for n in batches:
            run(n, None, watch=False)
            found.append(run(n, None, watch=True, last=True))
        return _merged(found, batches)


def _of_lengths(run: Any, runs: Any) -> Any:
    """One program whose sizes follow the batch and the length. Caches are filled at each size."""
    a, b, c = runs.batches

    def watched(n: Any, length: Any) -> Any:
        run(n, length, watch=False)
        return run(n, length, watch=True, last=True)
    lengths, found, operators = runs.grid.lengths, [], None
    for length in lengths:
        seen = watched(a, length)
        there = [x["op"] for x in seen["lines"] if "op" in x]
        operators = operators or there
        if there != operators:                     # before more is run at these lengths
            raise CannotRecord(f"{len(operators)} operators at length {lengths[0]}, {len(there)} others at {length}: "
                               "the code branches on the length")
        found.append(fit(seen, watched(b, length), a, b, "program"))
    p = fit_lengths(found, lengths)
    if comparable(at_batch(at_length(p, runs.grid.check), c)) != comparable(watched(c, runs.grid.check)):
        raise CannotRecord(f"a size does not follow the length (lengths {', '.join(map(str, lengths))} and "
                           f"{runs.grid.check})")
    return p


def _merged(found: Any, batches: Any) -> Any:
    a, b, c = batches
    try:
        p = fit(found[0], found[1], a, b, "program")
    except CannotRecord as e:
        raise _Branches(e.reason) from e
    if comparable(at_batch(p, c)) != comparable(found[2]):
        raise _Branches(f"a size is not m*B + c (batches {a}, {b}, {c})")
    return p


def _explained(error: Exception, mode: str, model: torch.nn.Module, example: Any) -> CannotRecord:
    """The error with mode, module and source line: the innermost frame outside the framework and this package."""
    names = {id(m): name for name, m in model.named_modules()}
    where = module = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        m = frame.f_locals.get("self")
        if isinstance(m, torch.nn.Module) and id(m) in names:
            module = names[id(m)]
        if not path.startswith((_FRAMEWORK, _HERE, "<")):
            where = f"{path}:{line}"
    if isinstance(error, CannotRecord):
        reason = error.reason
    else:
        reason = said(error)
    args, _ = example
    names_of_forward = set(inspect.signature(model.forward).parameters)
    if len(args) == 1 and isinstance(args[0], dict) and set(args[0]) <= names_of_forward:
        reason += "; forward takes by name what is given as one dict: **inputs"
    return CannotRecord(reason, mode, module, where)


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """The tensor leaves of inputs, in order."""
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]
