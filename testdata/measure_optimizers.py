#!/usr/bin/env python3
"""Writes testdata/measured/optimizers.json: what optimizer.step() of PyTorch keeps and what it needs while it runs.

usage: measure_optimizers.py      (needs torch, torchvision, transformers and bitsandbytes; no GPU)

Every storage that an operator makes inside step() is followed from birth to death (TorchDispatchMode and a finalizer
per storage), on real CPU tensors: the optimizers run the same Python code on every device. On a GPU foreach is the
default and has to be asked for here. Each figure is of one network's parameters and gradients, which are not counted:

  state_bytes       storages that the optimizer holds after the step, step counters included
  first_peak_bytes  peak of live bytes in step 1, the state that appears in it included
  peak_bytes        peak of live bytes in step 2, the state included

muon is torch.optim.Muon of the matrices and then torch.optim.AdamW of all else, which Muon refuses. Paged state lies
outside of the allocator, in memory that CUDA moves: here it is NumPy's, from as many elements on as in bitsandbytes.
"""
import gc
import json
import pathlib
import weakref

import bitsandbytes
import numpy
import torch
import transformers
from bitsandbytes.optim.optimizer import Optimizer2State
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

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
    # The one without a name is not kept: a first step makes what all later ones of the process find.
    return {"": mlp(), "mlp": mlp(), "mlp_fp16": mlp().half(), "resnet18": torchvision.models.resnet18(),
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
    yield "muon", muon, {"forms": ("foreach", "for-loop")}
    yield "adafactor-hf", hugging_face_adafactor, None
    for name, cls in (("adam8bit", "Adam8bit"), ("lion", "Lion"), ("lion8bit", "Lion8bit"),
                      ("paged-adam", "PagedAdam32bit"), ("paged-adam8bit", "PagedAdam8bit"),
                      ("paged-lion", "PagedLion32bit"), ("paged-lion8bit", "PagedLion8bit")):
        yield name, of_bitsandbytes(getattr(bitsandbytes.optim, cls)), None


class Both:
    """Two optimizers whose steps come one after the other."""

    def __init__(self, *members):
        self.members = members

    @property
    def state(self):
        return {parameter: state for member in self.members for parameter, state in member.state.items()}

    def step(self):
        for member in self.members:
            member.step()


def muon(parameters, **how):
    matrices = [p for p in parameters if p.ndim == 2]
    return Both(optim.Muon(matrices), optim.AdamW([p for p in parameters if p.ndim != 2], **how))


def hugging_face_adafactor(parameters):
    """As the Trainer makes it."""
    return transformers.Adafactor(parameters, lr=1e-3, scale_parameter=False, relative_step=False)


def of_bitsandbytes(cls):
    class OnCard(cls):
        """The tables of 8-bit state are made on the host, and those that the state needs copied to the card."""

        def fill_qmap(self):
            with _disable_current_modes():
                super().fill_qmap()
            for name in ("dynamic", "udynamic") if isinstance(self, Optimizer2State) else ("dynamic",):
                self.name2qmap[name] = self.name2qmap[name].clone()

        def get_state_buffer(self, p, dtype=torch.float32):
            if not self.is_paged or p.numel() < 1e5:
                return torch.zeros_like(p, dtype=dtype)
            width = torch.empty((), dtype=dtype).element_size()
            with _disable_current_modes():
                return torch.from_numpy(numpy.zeros(p.numel() * width, numpy.uint8)).view(dtype).view(p.shape)
    return OnCard


def state_bytes(optimizer):
    seen = {}
    for state in optimizer.state.values():
        for name, value in state.items():
            if torch.is_tensor(value):
                paged = value.numel() >= 1e5 and name in ("state1", "state2") and optimizer.is_paged
                seen[value.untyped_storage()._cdata] = 0 if paged else value.untyped_storage().nbytes()
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
           "bitsandbytes": bitsandbytes.__version__, "networks": {}, "steps": []}
    for network, module in networks().items():
        named = list(module.named_parameters())
        out["networks"][network] = [{"name": name, "dtype": str(p.dtype).removeprefix("torch."), "shape": list(p.shape)}
                                    for name, p in named]
        parameters = [p for _, p in named]
        for name, cls, options in optimizers():
            options = dict(options) if options is not None else None
            forms = FORMS if options is not None else {"foreach": {}}
            if options:
                forms = {form: forms[form] for form in options.pop("forms", forms)}
            for form, how in forms.items():
                try:
                    given = {**(options or {}), **how}
                    figures = measure(parameters, lambda ps, cls=cls, given=given: cls(ps, **given))
                except (TypeError, RuntimeError) as error:
                    print(network, name, form, "not there:", str(error)[:90])
                    continue
                out["steps"].append({"network": network, "optimizer": name, "implementation": form} | figures)
    del out["networks"][""]
    out["steps"] = [step for step in out["steps"] if step["network"]]
    lists = {key: ",\n    ".join(json.dumps(row) for row in out[key]) for key in ("steps",)}
    networks_text = ",\n    ".join(f"{json.dumps(name)}: [\n      " + ",\n      ".join(json.dumps(p) for p in ps) + "]"
                                   for name, ps in out["networks"].items())
    head = {key: out[key] for key in ("torch", "bitsandbytes", "made", "device")}
    (HERE / "measured" / "optimizers.json").write_text(
        json.dumps(head)[:-1] + ',\n  "networks": {\n    ' + networks_text
        + '},\n  "steps": [\n    ' + lists["steps"] + "]}\n")


if __name__ == "__main__":
    main()
