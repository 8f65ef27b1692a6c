"""measure(): one training step or inference of the model's own code on tensors without data, counted."""
from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import DynamicOutputShapeException
from torch.utils._pytree import tree_leaves, tree_map

from .._examples import examples
from .._fake.given import SAID_OF_REPEATED, first_given
from .._fake.inputs import input_names
from .._fake.packed import beside_packed
from .._fake.precision import autocast, checked, converted, type_of
from .._fake.tensors import (
    Given,
    batch_of,
    holds_constants,
    keeps_nothing,
    on_fake_cuda,
    refuse_what_is_not_plain,
    resized,
    stands_on_cpu,
    weightless,
)
from .._types import BatchDim, GivenPlan, Input, Loss, Module, Precision
from ..errors import Error, reported
from .engine import Engine, is_of_backward
from .measured import Measured
from .own_step import measured_step
from .storages import StorageTracker

_CATEGORIES = {"param": "parameters", "buffer": "buffers", "input": "inputs", "grad": "gradients",
               "opt_state": "optimizer_state"}


class Loop(NamedTuple):
    """What the loop around the model does; see measure()."""
    holds: str = "outputs"
    zero_grad: str = "before-forward"
    float32_outputs: bool = False

    def checked(self) -> Loop:
        for name, known in (("holds", ("outputs", "loss")), ("zero_grad", ("before-forward", "before-backward"))):
            if (value := getattr(self, name)) not in known:
                raise Error(f"{name}={value!r}: one of {' and '.join(map(repr, known))}", "bad-argument")
        return self


PLAIN = Loop()


@reported
def measure(model: Module | None = None, args: object = (), *rest: object,
            kwargs: Mapping[str, object] | None = None, step: Callable[..., object] | None = None,
            optimizer: str | Callable[..., object] = "adam", training: bool = True, batch: int | None = None,
            batch_dim: BatchDim = 0, loss: Literal["auto", "mean", "cross-entropy"] | Loss = "auto",
            precision: Precision | None = None, accumulate: int = 1, plan: GivenPlan | None = None,
            holds: Literal["outputs", "loss"] = "outputs",
            zero_grad: Literal["before-forward", "before-backward"] = "before-forward", float32_outputs: bool = False,
            **inputs: Input) -> Measured:
    """Runs the model's own code, or a training step of your own, on tensors without data and counts every storage.

    The step is the one that onnx-mem predicts: output and loss are held to its end, gradients are released right before
    the next forward, optimizers are the foreach ones. Three facts of your loop change it; what --trainer says of a
    trainer is their sum: hf holds="loss", and float32_outputs under autocast; lightning holds="loss",
    zero_grad="before-backward"; fabric float32_outputs. Recurrent layers run as the native CUDA path, not as cuDNN's.

    Args:
      model: on any device; it is not changed.
      args, kwargs, inputs: example inputs, as a tuple, one after the other or by name.
      optimizer: "none", "sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad", or a callable that makes one of a
        list of parameters.
      training: False for inference.
      batch: at which batch; default: that of the inputs.
      batch_dim: as in record().
      loss: "auto" (the model's own where it returns one; cross-entropy where the first output is 2-D, or scores of each
        token of its own vocabulary; else the mean of every floating output), "mean", "cross-entropy", or a callable
        that takes the model's output.
      step: a training step of your own, which does all of it: step(*args), or step(model, *args) with a model. Whatever
        it reaches (models, optimizers, scalers; as arguments, in its closure or as globals) has no data while it runs,
        and is afterwards as it was. It is called three times; the peak is that of the calls after the first. Of the
        options, batch and batch_dim alone are for it.
      precision: "bf16", "fp16": the model and its floating inputs converted; "amp-bf16", "amp-fp16": forward and loss
        under autocast.
      accumulate: batches per optimizer step; output and loss of one are gone when the next begins.
      plan: what checkpoint() takes, but for a budget: the step with these segments. The model itself stays as it is.
      holds: what your loop still has when backward runs: "outputs", a variable with all that the model returned;
        "loss", which alone is left where a function of yours returned it.
      zero_grad: where your loop releases gradients; "before-backward": those of the last step live through forward.
      float32_outputs: what wraps the model hands out float32 copies of outputs in half precision; autocast ends there,
        before the loss.

    Raises:
      Error: those of checkpoint(); code "cannot-measure", where the model does not run on tensors without data.
    """
    args, kwargs = examples(args, rest, kwargs, inputs)
    if batch is not None and (not isinstance(batch, int) or batch < 1):
        raise Error(f"batch={batch!r}: a batch is a number from 1 on", "bad-argument")
    loop = Loop(holds, zero_grad, float32_outputs).checked()
    if step is not None:
        if (optimizer, training, loss, precision, accumulate, plan, loop) != ("adam", True, "auto", None, 1, None,
                                                                             PLAIN):
            raise Error("a step of your own has its optimizer, loss and precision: measure(step=...) takes batch and "
                        "batch_dim beside the inputs", "bad-option")
        return measured_step(step, model, args, kwargs, batch, batch_dim)
    if not isinstance(model, torch.nn.Module):
        raise Error("measure wants a model, or a step of your own\n  try: onnx_mem.measure(model, x), or "
                    "onnx_mem.measure(step=step, args=(x, y))", "bad-argument")
    refuse_what_is_not_plain(model, (args, kwargs))
    if precision is not None:
        checked(precision)
        args, kwargs = converted((args, kwargs), precision)
    names = input_names(model, args, kwargs)
    was = batch_of((args, kwargs), batch_dim, names)

    vocabulary = _vocabulary(model, args, kwargs)

    def run(given: Given) -> Measured:
        def inputs() -> Any:
            return resized((args, kwargs), was, batch or was, batch_dim, names, given=given)
        with _planned(weightless(model, dtype=type_of(precision), given=given), plan) as made:
            return run_step(made, inputs, batch or was, optimizer, training, loss, vocabulary, precision=precision,
                            accumulate=accumulate, loop=loop)
    try:
        measured, given = first_given(lambda given: on_fake_cuda("the model", lambda: run(given), stands_on_cpu(model)),
                                      holds_constants(model))
    except Error as e:
        if not isinstance(e.__cause__, DynamicOutputShapeException) or not is_of_backward(e.__cause__):
            raise
        raise Error(f"{e}; in backward alone, which a record does not run: onnx_mem.analyze(model, x) answers",
                    e.code) from e.__cause__
    if given.values and measured.batch != was:
        warnings.warn(SAID_OF_REPEATED, stacklevel=3)
    return measured


@contextlib.contextmanager
def _planned(model: torch.nn.Module, plan: Any) -> Iterator[Any]:
    """`model` with the plan on it; without it again behind, as it may be the caller's own."""
    if plan is None:
        yield model
        return
    from .._checkpoint.planned import checkpoint, restore
    checkpoint(model, plan)
    try:
        yield model
    finally:
        restore(model)


def run_step(model: torch.nn.Module, inputs: Any, batch: int, optimizer: Any = "adam", training: bool = True,
             loss: Any = "auto", vocabulary: Any = frozenset(), tracker: Any = None, precision: Any = None,
             accumulate: int = 1, loop: Loop = PLAIN) -> Measured:
    """measure() of a fake model; `inputs()` makes fresh fake (args, kwargs). Call it inside fake_cuda()."""
    model.train(training)
    with torch.set_grad_enabled(training), contextlib.ExitStack() as stack:
        tracker = tracker or StorageTracker()
        with tracker, keeps_nothing():    # what the first calls leave behind (tables, caches) is there from then on
            for _ in range(2):
                x, kw = inputs()
                with autocast(precision):
                    out = _handed_out(model(*x, **kw), loop)
            loss_kind, targets = _targets(out, loss, vocabulary) if training else (None, [])
            del out
            gc.collect()
        if training and loss_kind is None:
            raise Error("the model returns no floating tensor: there is no loss to train on", "no-loss")
        trained = [p for p in model.parameters() if p.requires_grad]
        steps = _optimizer(optimizer, trained) if training else None
        for p in model.parameters():
            p.grad = None
        _see(tracker, model.parameters(), "param")
        _see(tracker, (*model.buffers(), *beside_packed(model).values()), "buffer")
        for t in tree_leaves((x, kw, targets)):
            if isinstance(t, torch.Tensor):
                tracker.see(t, "input")
        tracker.name_rest("buffer")
        ends = []
        gc.disable()
        try:
            stack.enter_context(tracker)
            stack.enter_context(_named_calls(model, tracker))
            for i in range(2 if training else 1):
                tracker.phase = "zero"
                if loop.zero_grad == "before-forward":
                    _release(trained)
                tracker.start_step(i)
                _one_step(model, x, kw, tracker, training, loss, loss_kind, targets, steps, trained, ends,
                          precision, accumulate, loop)
        finally:
            gc.enable()
    return _result(tracker, batch, training, optimizer, loss_kind, ends)


@contextlib.contextmanager
def _named_calls(model: torch.nn.Module, tracker: Any) -> Iterator[Any]:
    """The tracker knows in which module forward is."""
    names, inside = {id(m): name for name, m in model.named_modules()}, [""]

    def enter(module: torch.nn.Module, _: Any) -> None:
        inside.append(names.get(id(module), inside[-1]))
        tracker.module = inside[-1]

    def leave(*_: Any) -> None:
        inside.pop()
        tracker.module = inside[-1]
    hooks = torch.nn.modules.module
    handles = [hooks.register_module_forward_pre_hook(enter),
               hooks.register_module_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _see(tracker: Any, tensors: Any, category: str) -> None:
    """In a function of its own, so that no name is left of a buffer that forward replaces."""
    for t in tensors:
        tracker.see(t, category)


def _one_step(model: torch.nn.Module, x: Any, kw: dict[str, Any], tracker: Any, training: bool, loss: Any,
              loss_kind: Any, targets: Any, optimizer: Any, trained: Any, ends: Any, precision: Any,
              accumulate: int, loop: Loop) -> None:
    if not training:
        tracker.phase = "forward"
        with autocast(precision):
            out = model(*x, **kw)   # noqa: F841  (alive until the step ends)
        return
    for left in reversed(range(accumulate)):
        held = None         # output and loss of the batch before
        held = _forward_and_backward(model, x, kw, tracker, loss, loss_kind, targets, trained, precision,
                                     ends if left == 0 else None, loop, first=left == accumulate - 1)
    tracker.phase = "optimizer"
    if optimizer is not None:
        optimizer.step()
        for state in optimizer.state.values():
            for v in state.values():
                if isinstance(v, torch.Tensor):
                    tracker.see(v, "opt_state")
    tracker.phase = "end"
    del held


def _forward_and_backward(model: torch.nn.Module, x: Any, kw: dict[str, Any], tracker: Any, loss: Any, loss_kind: Any,
                          targets: Any, trained: Any, precision: Any, ends: Any, loop: Loop, first: bool) -> Any:
    """What the loop holds. `ends`: where to note what lives when forward is done; None: of an earlier batch. `first`:
    of the batches of an optimizer step."""
    tracker.phase = "forward"
    engine = Engine(tracker.start_node)
    with engine.hooks(), contextlib.ExitStack() as casts:
        casts.enter_context(autocast(precision))
        out = model(*x, **kw)
        if loop.float32_outputs:        # what hands them out has autocast around the model alone
            casts.close()
        out = _handed_out(out, loop)
        tracker.phase = "loss"
        total = loss(out) if callable(loss) else _loss(out, loss_kind, targets)
    if total.grad_fn is None:
        raise Error("the loss does not depend on a parameter that is trained", "no-loss")
    if loop.holds == "loss":
        out = None
    if ends is not None:
        ends.append(tracker.live)
        tracker.phase = "scan"
        for t in engine.saved(total):
            s = tracker.see(t)
            if s is not None:
                s.saved = True
        t = s = None
    if first and loop.zero_grad == "before-backward":
        _release(trained)
    tracker.phase, tracker.module = "backward", ""
    engine.backward(total)
    for p in trained:
        if p.grad is not None:
            tracker.see(p.grad, "grad")
    return out, total


def _release(trained: list[torch.nn.Parameter]) -> None:
    for p in trained:
        p.grad = None


def _handed_out(out: Any, loop: Loop) -> Any:
    """What the loop gets of a model's outputs."""
    if not loop.float32_outputs:
        return out

    def wide(t: Any) -> Any:
        return t.float() if isinstance(t, torch.Tensor) and t.dtype in (torch.float16, torch.bfloat16) else t
    return tree_map(wide, out)


def _result(tracker: Any, batch: int, training: bool, optimizer: Any, loss_kind: Any, ends: Any) -> Measured:
    last = max(tracker.peaks)
    peak, phase, op, alive = tracker.peaks[last]
    breakdown: dict[str, int] = {}
    for number in alive:
        s = tracker.seen[number]
        if s.counted:
            name = _CATEGORIES.get(s.category) or _by_phase(s, training)
            breakdown[name] = breakdown.get(name, 0) + s.bytes
    static = {c: sum(s.bytes for s in tracker.seen if s.category == c and s.step < 0 and s.counted)
              for c in ("param", "buffer", "input")}
    saved = sum(s.bytes for s in tracker.seen
                if s.saved and s.step == last and s.category is None and s.phase == "forward" and s.counted)
    return Measured(batch=batch, training=training,
                    optimizer=(optimizer if isinstance(optimizer, str) else "custom") if training else None,
                    loss=loss_kind, peak_bytes=peak, first_step_peak_bytes=tracker.peaks[0][0] if training else None,
                    end_of_forward_bytes=ends[-1] if ends else None, saved_activation_bytes=saved if training else None,
                    parameter_bytes=static["param"], buffer_bytes=static["buffer"], input_bytes=static["input"],
                    peak_phase=phase, peak_operator=op, breakdown=breakdown, course=tracker.course)


def _by_phase(s: Any, training: bool) -> Any:
    if s.phase in ("forward", "loss"):
        return "saved_activations" if s.saved else "transient_activations" if training else "activations"
    return {"backward": "activation_gradients", "optimizer": "optimizer_temporaries"}.get(s.phase, "other")


# -- loss --------------------------------------------------------------------------------------------------------------
def floating_outputs(out: Any) -> list[torch.Tensor]:
    """The outputs that a loss is made of."""
    return [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.is_floating_point() and t.requires_grad]


def own_loss(out: Any) -> Any:
    """The loss that the model computed itself, None where there is none."""
    loss = out.get("loss") if hasattr(out, "get") and hasattr(out, "keys") else getattr(out, "loss", None)
    return loss if isinstance(loss, torch.Tensor) and loss.dim() == 0 and loss.requires_grad else None


def _targets(out: Any, loss: Any, vocabulary: Any) -> Any:
    if callable(loss):
        return "custom", []
    if own_loss(out) is not None:
        return "output", []
    outs = floating_outputs(out)
    if not outs:
        return None, []
    if loss == "auto":
        first = outs[0]
        tokens = first.dim() == 3 and first.shape[-1] in vocabulary
        loss = "cross-entropy" if first.dim() == 2 or tokens else "mean"
    if loss == "mean":
        return loss, []
    # Classes stand last where they are a token's, else in dimension 1.
    return loss, [_target(t, vocabulary) for t in outs]


def _target(t: torch.Tensor, vocabulary: Any) -> Any:
    if t.dim() == 0:
        return None
    shape = list(t.shape[:-1]) if _classes_last(t, vocabulary) else [t.shape[0], *t.shape[2:]]
    return torch.zeros(shape, dtype=torch.int64, device=t.device)


def _classes_last(t: torch.Tensor, vocabulary: Any) -> Any:
    return t.dim() <= 2 or t.dim() == 3 and t.shape[-1] in vocabulary


def _loss(out: Any, kind: str, targets: Any) -> Any:
    if kind == "output":
        return own_loss(out)
    total = None
    for i, t in enumerate(floating_outputs(out)):
        # No name holds what one output adds.
        total = _of_output(t, kind, targets, i) if total is None else total + _of_output(t, kind, targets, i)
    return total


def _of_output(t: torch.Tensor, kind: str, targets: Any, i: int) -> torch.Tensor:
    if kind == "mean" or t.dim() == 0:
        return t if t.dim() == 0 else t.mean()
    if targets[i].dim() + 1 == t.dim() and tuple(targets[i].shape) == tuple(t.shape[:-1]) and t.dim() > 2:
        return F.cross_entropy(t.flatten(0, -2), targets[i].flatten())
    return F.cross_entropy(t, targets[i])


def _vocabulary(model: torch.nn.Module, args: Any, kwargs: dict[str, Any]) -> frozenset[int]:
    """Rows of the tables that integers are looked up in, where integers are fed; empty elsewhere."""
    fed = any(isinstance(t, torch.Tensor) and not t.is_floating_point() for t in tree_leaves((args, kwargs)))
    rows = [m.num_embeddings for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    return frozenset(rows if fed else ())


# -- optimizers --------------------------------------------------------------------------------------------------------
def _optimizer(name: str, parameters: Any) -> Any:
    if callable(name):
        return name(parameters)
    optim = torch.optim
    makers = {"none": lambda: None, "sgd": lambda: optim.SGD(parameters, 0.01, foreach=True),
              "momentum": lambda: optim.SGD(parameters, 0.01, momentum=0.9, foreach=True),
              "adam": lambda: optim.Adam(parameters, foreach=True),
              "adamw": lambda: optim.AdamW(parameters, foreach=True),
              "rmsprop": lambda: optim.RMSprop(parameters, foreach=True),
              "adagrad": lambda: optim.Adagrad(parameters, foreach=True)}
    if name not in makers:
        raise Error(f"no optimizer '{name}' here; one of {', '.join(makers)}, or a callable", "bad-option")
    return makers[name]()
