"""What PyTorch takes with the plans in NAME.json.gz: each is applied by the runtime below, not by the package's own,
and its step is counted as onnx_mem.measure() counts steps. Writes the figures back, and the record beside them.

    python measure_calls.py [NAME ...]     (torch, torchvision, transformers; no GPU: tensors without data)"""
from __future__ import annotations

import functools
import gzip
import json
import pathlib
import sys
from typing import Any

import torch
import torchvision
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import SAC_IGNORED_OPS, checkpoint

import onnx_mem
from onnx_mem._fake.inputs import input_names
from onnx_mem._fake.tensors import fake_cuda, resized, weightless
from onnx_mem._measure.step import _vocabulary, run_step
from onnx_mem._measure.storages import StorageTracker

HERE = pathlib.Path(__file__).parent
BATCH = 4


class InPlace(nn.Module):
    """Writers in place of what is kept, of what is made again, and of what is from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(before, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                          nn.Dropout2d(.2))
            for before in (3, 16, 16))
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


def convnext() -> nn.Module:
    block = torchvision.models.convnext.CNBlockConfig
    return torchvision.models.convnext.ConvNeXt([block(16, 32, 2), block(32, None, 2)], stochastic_depth_prob=.2,
                                                num_classes=10)


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(use_cache=False, n_layer=2, n_embd=64, n_head=4, vocab_size=97, n_positions=64))


def llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(use_cache=False, hidden_size=64, intermediate_size=176, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, vocab_size=97)
    return LlamaForCausalLM(config).to(torch.bfloat16)


def image(size: int) -> Any:
    return (torch.randn(BATCH, 3, size, size),), {}


def tokens(length: int) -> Any:
    return (), {name: torch.randint(0, 97, (BATCH, length)) for name in ("input_ids", "labels")}


MODELS = {"in_place": (InPlace, lambda: image(16)), "convnext": (convnext, lambda: image(32)),
          "gpt2": (gpt2, lambda: tokens(48)), "llama": (llama, lambda: tokens(64))}


class Tracker(StorageTracker):
    paused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {})) if self.paused else super().__torch_dispatch__(func, types, args, kwargs)


def written(func: Any) -> int | None:
    """The argument that `func` writes over."""
    return next((i for i, a in enumerate(func._schema.arguments) if a.alias_info and a.alias_info.is_write), None)


class Calls(TorchDispatchMode):
    """One run of a region: the first, or the second (`again`)."""

    def __init__(self, plan: Any, store: dict[Any, Any], tracker: Tracker, again: bool) -> None:
        super().__init__()
        self.keep, self.skip, self.store, self.tracker, self.again = plan["keep"], plan["skip"], store, tracker, again
        self.count: dict[Any, int] = {}

    def bare(self, shape: Any, strides: Any, dtype: Any, device: Any) -> torch.Tensor:
        """Without its bytes."""
        self.tracker.paused = True
        try:
            made = torch.empty_strided(shape, strides, dtype=dtype, device=device)
            made.untyped_storage().resize_(0)
            return made
        finally:
            self.tracker.paused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        name = f"{func}#{self.count.get(func, 0)}"
        self.count[func] = self.count.get(func, 0) + 1
        if name not in self.keep and name not in self.skip:
            if self.again:   # norms update their statistics once
                args = [None if p.name in ("running_mean", "running_var") else a
                        for p, a in zip(func._schema.arguments, args, strict=False)]
            return func(*args, **kwargs)
        if self.again and written(func) is not None:
            return args[written(func)]
        if self.again:
            leaves, spec = self.store.pop(name)
            return tree_unflatten([self.bare(*t) if type(t) is tuple else t for t in leaves], spec)
        out = func(*args, **kwargs)
        if written(func) is None:
            leaves, spec = tree_flatten(out)
            self.store[name] = [t if not isinstance(t, torch.Tensor) else t.detach() if i in self.keep.get(name, ())
                                else (t.shape, t.stride(), t.dtype, t.device) for i, t in enumerate(leaves)], spec
        return out


def contexts(plan: Any, tracker: Tracker) -> Any:
    store: dict[Any, Any] = {}
    return Calls(plan, store, tracker, False), Calls(plan, store, tracker, True)


def apply(model: nn.Module, segments: Any, tracker: Tracker) -> None:
    for segment in segments:
        modules = [model.get_submodule(path) for path in segment["modules"]]

        def run(x: Any, *args: Any, forwards: Any = tuple(m.forward for m in modules), **kwargs: Any) -> Any:
            for forward in forwards:
                x = forward(x, *args, **kwargs)
                x = x[0] if isinstance(x, tuple) else x
            return x
        for module in modules[1:]:
            module.forward = lambda x, *args, **kwargs: x
        modules[0].forward = functools.partial(checkpoint, modules[0].forward if len(modules) == 1 else run,
                                               use_reentrant=False, preserve_rng_state=False,
                                               context_fn=functools.partial(contexts, segment, tracker))


def measured(name: str, segments: Any) -> Any:
    build, inputs = MODELS[name]
    torch.manual_seed(0)
    model, given = build().train(), inputs()
    vocabulary = _vocabulary(model, *given)
    with fake_cuda(False):
        made, tracker = weightless(model), Tracker()
        apply(made, segments, tracker)
        names = input_names(made, *given)
        return run_step(made, lambda: resized(given, BATCH, BATCH, 0, names), BATCH, "sgd", True, "auto", vocabulary,
                        tracker=tracker)


def main(name: str) -> None:
    path = HERE / f"{name}.json.gz"
    truth = json.loads(gzip.decompress(path.read_bytes()))
    torch.manual_seed(0)
    model = MODELS[name][0]().train()
    args, kwargs = MODELS[name][1]()
    onnx_mem.record(model, args, kwargs).save(HERE / f"{name}.eager")
    truth |= {"batch": BATCH, "torch": torch.__version__, "peak_bytes": measured(name, []).peak_bytes}
    for plan in truth["plans"]:
        step = measured(name, plan["segments"])
        plan["peak_bytes"] = step.peak_bytes
        plan["live"] = [m.live for m in step.course if m.allocated > 0 and m.phase != "optimizer"]
    path.write_bytes(gzip.compress(json.dumps(truth, separators=(",", ":")).encode(), 9, mtime=0))
    print(name, truth["peak_bytes"], [plan["peak_bytes"] for plan in truth["plans"]])


for given_name in sys.argv[1:] or MODELS:
    main(given_name)
