#!/usr/bin/env python3
"""Writes testdata/measured/optimizers.json: what optimizer.step() of PyTorch keeps and what it needs while it runs.

usage: measure_optimizers.py      (needs torch, torchvision and, for 8-bit Adam, bitsandbytes; no GPU)

Every storage that an operator makes inside step() is followed from birth to death (TorchDispatchMode and a finalizer
per storage), on real CPU tensors: the optimizers run the same Python code on every device. On a GPU foreach is the
default and has to be asked for here. Each figure is of one network's parameters and gradients, which are not counted:

  state_bytes       storages that the optimizer holds after the step, step counters included
  first_peak_bytes  peak of live bytes in step 1, the state that appears in it included
  peak_bytes        peak of live bytes in step 2, the state included
"""
import gc
import json
import pathlib
import weakref

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

try:
    import bitsandbytes
except ImportError:
    bitsandbytes = None

HERE = pathlib.Path(__file__).resolve().parent
FORMS = {"foreach": {"foreach": True}, "for-loop": {"foreach": False}, "fused": {"fused": True}}
optim = torch.optim


class Storages(TorchDispatchMode):
    """live and peak: bytes of the storages made by operators while the mode is on and not yet freed."""

    def __init__(self):
        super().__init__()
        self.known, self.live, self.peak = {}, 0, 0

    def ignore(self, tensor):
        self.known[tensor.untyped_storage()._cdata] = 0

    def freed(self, key, size):
        self.known.pop(key, None)
        self.live -= size

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            if storage._cdata in self.known:
                continue
            self.known[storage._cdata] = storage.nbytes()
            self.live += storage.nbytes()
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self.freed, storage._cdata, storage.nbytes()).atexit = False
        return out


class TiedTransformer(nn.Module):
    """A decoder of two blocks whose head shares the embedding's weight."""

    def __init__(self, vocabulary=1000, length=32, width=96):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"norm1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width),
                           "project": nn.Linear(width, width), "norm2": nn.LayerNorm(width),
                           "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)}) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight


def mlp():
    return nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 70), nn.ReLU(), nn.Linear(70, 10))


def networks():
    import torchvision
    return {"mlp": mlp(), "mlp_fp16": mlp().half(), "resnet18": torchvision.models.resnet18(),
            "tied_transformer": TiedTransformer()}


def optimizers():
    """Name of --optimizer, whether --weight-decay, the optimizer of `parameters`."""
    decay = {"weight_decay": 1e-4}
    momentum = {"momentum": 0.9}
    yield "sgd", optim.SGD, {}
    yield "momentum", optim.SGD, momentum
    yield "nesterov", optim.SGD, momentum | {"nesterov": True}
    yield "adam", optim.Adam, {}
    yield "adamw", optim.AdamW, {}
    yield "amsgrad", optim.Adam, {"amsgrad": True}
    yield "rmsprop", optim.RMSprop, {}
    yield "rmsprop-momentum", optim.RMSprop, momentum
    yield "rmsprop-centered", optim.RMSprop, {"centered": True}
    yield "adagrad", optim.Adagrad, {}
    yield "adafactor", optim.Adafactor, {}
    for name, cls, options in (("sgd", optim.SGD, {}), ("momentum", optim.SGD, momentum),
                               ("nesterov", optim.SGD, momentum | {"nesterov": True}), ("adam", optim.Adam, {}),
                               ("amsgrad", optim.Adam, {"amsgrad": True}), ("rmsprop", optim.RMSprop, {}),
                               ("adagrad", optim.Adagrad, {})):
        yield name + " weight-decay", cls, options | decay
    if bitsandbytes is not None:
        yield "adam8bit", bitsandbytes.optim.Adam8bit, None


def state_bytes(optimizer):
    seen = {}
    for state in optimizer.state.values():
        for value in state.values():
            if torch.is_tensor(value):
                seen[value.untyped_storage()._cdata] = value.untyped_storage().nbytes()
    return sum(seen.values())


def measure(parameters, make):
    storages = Storages()
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape).to(parameter.dtype)
        storages.ignore(parameter)
        storages.ignore(parameter.grad)
    peaks = []
    gc.collect()
    gc.disable()
    try:
        with storages:
            optimizer = make(parameters)
            for _ in range(2):
                storages.peak = storages.live
                optimizer.step()
                peaks.append(storages.peak)
    finally:
        gc.enable()
    result = {"state_bytes": state_bytes(optimizer), "first_peak_bytes": peaks[0], "peak_bytes": peaks[1]}
    for parameter in parameters:
        parameter.grad = None
    return result


def main():
    torch.manual_seed(0)
    out = {"torch": torch.__version__.split("+")[0], "made": "2026-11-21", "device": "cpu, real tensors",
           "bitsandbytes": getattr(bitsandbytes, "__version__", None), "networks": {}, "steps": []}
    for network, module in networks().items():
        named = list(module.named_parameters())
        out["networks"][network] = [{"name": name, "dtype": str(p.dtype).removeprefix("torch."), "shape": list(p.shape)}
                                    for name, p in named]
        parameters = [p for _, p in named]
        for name, cls, options in optimizers():
            forms = FORMS if options is not None else {"foreach": {}}
            for form, how in forms.items():
                try:
                    given = {**(options or {}), **how}
                    figures = measure(parameters, lambda ps, cls=cls, given=given: cls(ps, **given))
                except (TypeError, RuntimeError) as error:
                    print(network, name, form, "not there:", str(error)[:90])
                    continue
                out["steps"].append({"network": network, "optimizer": name, "implementation": form} | figures)
    lists = {key: ",\n    ".join(json.dumps(row) for row in out[key]) for key in ("steps",)}
    networks_text = ",\n    ".join(f"{json.dumps(name)}: [\n      " + ",\n      ".join(json.dumps(p) for p in ps) + "]"
                                   for name, ps in out["networks"].items())
    head = {key: out[key] for key in ("torch", "bitsandbytes", "made", "device")}
    (HERE / "measured" / "optimizers.json").write_text(
        json.dumps(head)[:-1] + ',\n  "networks": {\n    ' + networks_text
        + '},\n  "steps": [\n    ' + lists["steps"] + "]}\n")


if __name__ == "__main__":
    main()
