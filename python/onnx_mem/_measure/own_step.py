"""measure(step=...): a training step of the user's own on tensors without data, counted."""
from __future__ import annotations

import contextlib
import functools
import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._pytree import tree_leaves

from .._fake.given import SAID_OF_REPEATED, first_given
from .._fake.inputs import input_names
from .._fake.tensors import NOTHING, Given, batch_of, on_fake_cuda, patch, resized
from ..errors import Error
from .engine import Engine
from .lives import LifeTracker
from .measured import Live, Measured
from .reach import Reach

CALLS = 3           # what the first leaves behind (state, caches) is there in the second; the third must be like it


def measured_step(step: Callable[..., object], model: object, args: tuple[Any, ...], kwargs: dict[str, Any],
                  batch: int | None, batch_dim: Any) -> Measured:
    """measure() with `step`; `model`: what it gets before the inputs, or None."""
    names = names_of_inputs(step, model, args, kwargs)
    was = batch_of((args, kwargs), batch_dim, names) if names else 0
    if batch is not None and not names:
        raise Error("the step has no inputs whose batch could be another: hand them to it\n"
                    "  try: onnx_mem.measure(step=step, args=(x, y), batch=64)", "bad-argument")

    def run(given: Given) -> LifeTracker:
        return watched(step, model, lambda: resized((args, kwargs), was, batch or was, batch_dim, names, given=given),
                       names, given)
    tracker, given = first_given(run)
    if given.values and batch not in (None, was):
        warnings.warn(SAID_OF_REPEATED, stacklevel=4)
    return result(tracker, batch or was)


def names_of_inputs(step: Callable[..., object], model: object, args: tuple[Any, ...],
                    kwargs: dict[str, Any]) -> list[str]:
    """Of the tensors among the arguments, from the signature of the step."""
    names = input_names(step, ((model,) if model is not None else ()) + args, kwargs)
    return names[len(names) - len(tensors_in((args, kwargs))):]


def watched(step: Callable[..., object], model: object, inputs: Callable[[], Any], names: list[str],
            given: Given = NOTHING) -> LifeTracker:
    """The tracker of a run of the step. `inputs()` makes fresh fake (args, kwargs), which have what is `given`."""

    def run() -> LifeTracker:
        x, kw = inputs()
        reach = Reach()
        reach.visit(step, "")
        for i, argument in enumerate([model, *x, *kw.values()]):
            if not isinstance(argument, torch.Tensor):
                reach.visit(argument, "" if i else "model")
        tracker = LifeTracker(reach.names(), reach.paths(), dict(zip(names, tensors_in((x, kw)), strict=True)))
        tracker.before_each, tracker.values_are_given = reach.release_tensors, given.values
        before = (model,) if model is not None else ()
        with reach.without_data(given.values):
            _run(functools.partial(step, *before, *x, **kw), reach, tracker)
            return tracker
    return on_fake_cuda("the step", run, names_cpu=True)


def tensors_in(tree: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


def _run(step: Callable[[], object], reach: Reach, tracker: LifeTracker) -> None:
    tracker.see_named(t for t in reach.tensors.values() if isinstance(t, FakeTensor))
    engine = Engine(tracker.start_node, tracker.saw)
    left = []
    gc.collect()
    gc.disable()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_as_on_a_gpu())
            stack.enter_context(_phases(tracker))
            stack.enter_context(engine.of_a_step(tracker.backward))
            stack.enter_context(tracker)
            stack.enter_context(torch.enable_grad())
            for call in range(CALLS):
                tracker.start_call(call)
                step()
                tracker.see_gradients(reach.tensors.values())
                reach.release_containers()
                left.append(tracker.live)
            tracker.end()
    finally:
        gc.enable()
    if tracker.calls[-1] == tracker.calls[-2]:
        raise Error("the step runs no operator", "cannot-measure")
    if left[-1] != left[-2]:
        raise Error(f"each call of the step leaves {left[-1] - left[-2]:,} bytes more than the one before: something "
                    "keeps tensors from call to call (a list of losses, a graph that is not detached)",
                    "cannot-measure")


@contextlib.contextmanager
def _phases(tracker: LifeTracker) -> Iterator[None]:
    """The tracker knows the module whose forward runs, and when an optimizer steps."""
    hooks = torch.nn.modules.module
    handles = [hooks.register_module_forward_pre_hook(lambda module, _: tracker.enter(module)),
               hooks.register_module_forward_hook(lambda *_: tracker.leave(), always_call=True),
               register_optimizer_step_pre_hook(lambda *_: tracker.start_optimizer()),
               register_optimizer_step_post_hook(lambda optimizer, *_: tracker.end_optimizer(optimizer))]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _as_on_a_gpu() -> Iterator[None]:
    """What a step asks of a GPU that need not exist."""
    autocast = torch.amp.autocast_mode.autocast
    enter = autocast.__enter__

    def entered(this: Any) -> Any:
        if this.device == "cpu" and this._enabled:
            raise Error("autocast for the CPU does nothing to tensors on the GPU, where the step is measured\n"
                        "  try: torch.autocast(\"cuda\", ...)", "cannot-measure")
        return enter(this)

    def steps(_: Any, optimizer: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)         # no gradient is infinite
    with contextlib.ExitStack() as stack:
        patch(stack, autocast, "__enter__", entered)
        patch(stack, torch.amp.GradScaler, "_maybe_opt_step", steps)
        for name in ("synchronize", "empty_cache"):
            patch(stack, torch.cuda, name, lambda *_: None)
        yield


def result(tracker: LifeTracker, batch: int) -> Measured:
    """Of the call with the most bytes alive, after the first one."""
    call = max(range(1, CALLS), key=lambda c: (tracker.peak_of(c)[0], -c))
    peak, at = tracker.peak_of(call)
    op = tracker.ops[at]
    breakdown: dict[str, int] = {}
    alive = []
    for n in tracker.alive_at(at):
        s = tracker.seen[n]
        category = tracker.category_of(n)
        breakdown[category] = breakdown.get(category, 0) + s.bytes
        alive.append(Live(tracker.name_of(n), category, s.bytes, s.op, *tracker.made_at[n]))
    alive.sort(key=lambda x: -x.bytes)
    static = {c: sum(s.bytes for n, s in enumerate(tracker.seen) if s.category == c and tracker.made_by(n) < 0)
              for c in ("param", "buffer", "input")}
    begin, end = tracker.calls[call], tracker.calls[call + 1]
    saved = sum(s.bytes for n, s in enumerate(tracker.seen)
                if s.saved and s.category is None and s.phase == "forward" and begin <= tracker.made_by(n) < end)
    return Measured(batch=batch, training=True, optimizer="custom", loss="custom", peak_bytes=peak,
                    first_step_peak_bytes=tracker.peak_of(0)[0],
                    end_of_forward_bytes=tracker.most_before_backward(call), saved_activation_bytes=saved,
                    parameter_bytes=static["param"], buffer_bytes=static["buffer"], input_bytes=static["input"],
                    peak_phase=op.phase, peak_operator=op.op, breakdown=breakdown, course=tracker.course_of(call),
                    live_at_peak=alive)
