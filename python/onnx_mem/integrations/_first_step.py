"""The first optimizer step, predicted and measured."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import torch
from torch import cuda
from torch.utils._pytree import tree_map

from .. import _html
from .._measure.step import measure
from ..commands import analyze
from ..errors import Error

P = ParamSpec("P")
_NAMES = {"SGD": "sgd", "Adam": "adam", "AdamW": "adamw", "RMSprop": "rmsprop", "Adagrad": "adagrad",
          "Adafactor": "adafactor"}


class Differs(UserWarning):
    """The step took more or less than the range of the prediction."""


@dataclasses.dataclass
class Step:
    """What a loop knows of its first step.

    module: its forward gives the loss of the example inputs; amp: "bf16" or "fp16" under autocast."""
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    optimizer: torch.optim.Optimizer | None
    amp: str | None = None
    accumulate: int = 1


def never_raises(function: Callable[P, None]) -> Callable[P, None]:
    """A failure is a warning."""
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Exception as e:
            code = f" [{e.code}]" if isinstance(e, Error) else ""
            first = (str(e).strip().splitlines() or [""])[0]
            warn(f"onnx-mem: the first step is not compared: {type(e).__name__}: {first}{code}", UserWarning)
    return call


def warn(text: str, kind: type[Warning]) -> None:
    """A warning, also where warnings are errors: a line then."""
    try:
        warnings.warn(text, kind, stacklevel=3)
    except Warning:
        print(text, file=sys.stderr)


def without_data(inputs: Any) -> Any:
    """Shapes and types of a batch, which outlive it."""
    return tree_map(lambda t: torch.empty_like(t, device="meta") if isinstance(t, torch.Tensor) else t, inputs)


def start() -> None:
    """From here on the most is counted."""
    if cuda.is_available():
        cuda.reset_peak_memory_stats()


def taken() -> int | None:
    """The most since start(); None without CUDA. Read before anything else is done."""
    return int(cuda.max_memory_allocated()) if cuda.is_available() else None


def report(step: Step, measured: int | None) -> None:
    """Prints the prediction of the step beside what it took, and warns where that is outside its range."""
    options = _options(step)
    with _plain_forward(step.module), warnings.catch_warnings():
        warnings.simplefilter("ignore")    # notes on the record are for who makes one
        found = analyze(step.module, *step.args, kwargs=step.kwargs, mode="train", **options)
        counted = None if measured is not None else _counted(step)
    training = found.training
    later = training.peak_bytes - training.first_step_peak_bytes       # by which step 2 takes more
    expected = training.allocated_peak_bytes - later
    low, high = (end - later for end in training.allocated_interval_bytes)
    predicted = f"{_html.size(expected)} ({_html.size(low)} to {_html.size(high)})"
    batch = f"batch {found.bindings['batch']}" if "batch" in found.bindings else "one batch"
    if measured is not None:
        text = (f"onnx-mem: first step, {batch}: predicted {predicted}, torch.cuda.max_memory_allocated() "
                f"{_html.size(measured)} ({measured / expected - 1:+.1%})")
        print(text, flush=True)
        if not low <= measured <= high:
            side, bound = ("more", high) if measured > high else ("less", low)
            warn(f"onnx-mem: the first step took {_html.size(abs(measured - bound))} {side} than the range of its "
                 f"prediction, {predicted}; onnx-mem explain of a snapshot says who holds what", Differs)
        return
    print(f"onnx-mem: first step, {batch}: predicted {predicted} of torch.cuda.max_memory_allocated(); there is no "
          f"CUDA here to compare it with; {_against(training.first_step_peak_bytes, counted)}", flush=True)


def _against(predicted: int, counted: int | None) -> str:
    if counted is None:
        return "nor does the step run on tensors without data, for onnx_mem.measure()"
    if counted == predicted:
        return f"onnx_mem.measure() counts the same {_html.size(counted)} of live bytes"
    return f"onnx_mem.measure() counts {_html.size(counted)} of live bytes, predicted are {_html.size(predicted)}"


def _counted(step: Step) -> int | None:
    """By the model's own code, with an optimizer of the loop's class; None where that does not run without data."""
    precision: Any = f"amp-{step.amp}" if step.amp else None
    try:
        made = measure(step.module, step.args, kwargs=step.kwargs, optimizer=_another(step.optimizer),
                       precision=precision, accumulate=step.accumulate)
    except Error:
        return None
    return made.first_step_peak_bytes


def _another(optimizer: Any) -> Any:
    """Makes one of the same class and settings, of other parameters."""
    if optimizer is None:
        return "none"
    optimizer = _unwrapped(optimizer)
    accepted = inspect.signature(type(optimizer)).parameters
    settings = {k: v for k, v in optimizer.defaults.items() if k in accepted}
    if "foreach" in settings and settings["foreach"] is None and not settings.get("fused"):
        settings["foreach"] = True     # what torch takes by itself on a card
    return lambda parameters: type(optimizer)(parameters, **settings)


def _options(step: Step) -> dict[str, Any]:
    options: dict[str, Any] = dict(amp=step.amp, accumulate=step.accumulate if step.accumulate > 1 else None)
    if step.optimizer is not None:
        options.update(_of_optimizer(step.optimizer))
    return options


def _of_optimizer(optimizer: Any) -> dict[str, Any]:
    """The program's words for an optimizer; where it has none, the bytes of state per parameter that it holds."""
    optimizer = _unwrapped(optimizer)
    defaults, name = optimizer.defaults, _NAMES.get(type(optimizer).__name__)
    if name == "sgd" and defaults.get("momentum"):
        name = "nesterov" if defaults.get("nesterov") else "momentum"
    if name == "adam" and defaults.get("amsgrad"):
        name = "amsgrad"
    implementation = "fused" if defaults.get("fused") else "for-loop" if defaults.get("foreach") is False else None
    if name is not None:
        return dict(optimizer=name, optimizer_impl=implementation)
    state = sum(t.numel() * t.element_size() for s in optimizer.state.values() for t in s.values()
                if isinstance(t, torch.Tensor))
    trained = sum(p.numel() for group in optimizer.param_groups for p in group["params"])
    return dict(optimizer=round(state / max(1, trained), 3))


def _unwrapped(optimizer: Any) -> Any:
    while type(optimizer).__name__ in ("AcceleratedOptimizer", "LightningOptimizer"):
        optimizer = optimizer.optimizer
    return optimizer


@contextlib.contextmanager
def _plain_forward(module: torch.nn.Module) -> Iterator[None]:
    """Without the autocast that accelerate puts around forward, whose copy would run the model itself."""
    own = module.__dict__
    original = own.get("_original_forward")
    wrapped = own.get("forward")
    if wrapped is None or getattr(original, "__func__", None) is not type(module).forward:
        yield
        return
    del own["forward"], own["_original_forward"]
    try:
        yield
    finally:
        own["forward"], own["_original_forward"] = wrapped, original
