"""What PyTorch takes with plans that hold tensors in host memory: of each network a record, and random plans with the
bytes alive after each operator, as onnx_mem.measure() counts them under the package's own runtime. A call that the
runtime refuses to move, as a later one writes over its result, is kept instead.

    python measure_host.py [NAME ...]     (torch; no GPU: tensors without data)"""
from __future__ import annotations

import gzip
import json
import pathlib
import random
import re
import sys
from typing import Any

import torch
from torch import nn

import onnx_mem
from onnx_mem._checkpoint import applied
from onnx_mem._fake.inputs import input_names
from onnx_mem._fake.tensors import fake_cuda, resized, weightless
from onnx_mem._measure.step import _vocabulary, run_step

HERE = pathlib.Path(__file__).parent
BATCH, PLANS = 8, 12


class Block(nn.Module):
    """Tensors of 384 KiB and more beside some that are too small to move."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.proj = nn.LayerNorm(96), nn.Linear(96, 288), nn.Linear(96, 96)
        self.norm2, self.up, self.down = nn.LayerNorm(96), nn.Linear(96, 384), nn.Linear(384, 96)
        self.drop = nn.Dropout(.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(-1, (4, 24)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.drop(self.proj(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.h, self.head = nn.Linear(16, 96), nn.ModuleList(Block() for _ in range(6)), nn.Linear(96, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.h:
            x = block(x)
        return self.head(x)


class Convs(nn.Module):
    """Children of one nn.Sequential, norms that are written over."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*(
            nn.Sequential(nn.Conv2d(before, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                          nn.Conv2d(16, 16, 3, padding=1), nn.GELU())
            for before in (3, 16, 16, 16, 16)))
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).mean((2, 3)))


MODELS = {"blocks": (Blocks, lambda: torch.randn(BATCH, 128, 16), ["h", 6]),
          "convs": (Convs, lambda: torch.randn(BATCH, 3, 32, 32), ["body", 5])}


def measured(name: str, segments: Any) -> Any:
    build, inputs, _ = MODELS[name]
    torch.manual_seed(0)
    model, given = build().train(), ((inputs(),), {})
    vocabulary = _vocabulary(model, *given)
    with fake_cuda(False):
        made = onnx_mem.checkpoint(weightless(model), segments) if segments else weightless(model)
        names = input_names(made, *given)
        return run_step(made, lambda: resized(given, BATCH, BATCH, 0, names), BATCH, "sgd", True, "auto", vocabulary)


def calls_of(name: str, segments: Any) -> dict[str, list[str]]:
    """Calls by the segment's first module, on the device of the measured step."""
    seen: dict[str, list[str]] = {}
    real = applied._FirstCalls.check_found

    def note(run: Any) -> None:
        modules = next(s["modules"] for s in segments if s["modules"][0] == run.call["name"])
        names = (".".join(filter(None, (modules[i], path))) + f":{op}#{nth}"
                 for i, path, op, nth in run.counted() if i >= 0)
        seen[modules[0]] = list(dict.fromkeys(names))
        real(run)
    applied._FirstCalls.check_found = note
    try:
        measured(name, [{**s, "keep": {}, "skip": []} for s in segments])
    finally:
        applied._FirstCalls.check_found = real
    return seen


def cut(path: str, count: int, choose: random.Random) -> list[dict[str, Any]]:
    """Runs of one to three neighbours; some are no segment."""
    segments, at = [], 0
    while at < count:
        length = choose.choice((1, 1, 2, 3))
        if choose.random() < .85:
            segments.append({"modules": [f"{path}.{i}" for i in range(at, min(at + length, count))]})
        at += length
    return segments


VIEWS = ("aten.t.", "aten.view", "aten._unsafe_view", "aten.transpose", "aten.split", "aten.expand", "aten.detach",
         "aten.empty")


def drawn(name: str, choose: random.Random) -> Any:
    segments: Any = cut(*MODELS[name][2], choose)
    calls = calls_of(name, segments)
    for segment in segments:
        segment["keep"], moved = {}, {}
        for call in calls[segment["modules"][0]]:
            kind = choose.random()
            op = call.rpartition(":")[2]
            if op.startswith(VIEWS) or "_." in op:
                continue
            if kind < .2:
                segment["keep"][call] = []
            elif kind < .5:
                moved[call] = []
        if choose.random() < .85:
            segment["offload"] = {"when": choose.choice(("overlapped", "waiting")), "inputs": choose.random() < .5,
                                  "calls": moved}
            if not moved and not segment["offload"]["inputs"]:
                del segment["offload"]
    return segments


def settled(name: str, segments: Any) -> Any:
    """The step with the plan, and of what cannot move the plan's own word for it."""
    while True:
        try:
            return measured(name, segments)
        except RuntimeError as e:
            refused = re.search(r"writes over what (\S+) made", str(e))
            if refused is None:
                raise
            for segment in segments:
                moved = segment.get("offload", {}).get("calls", {})
                for call in [call for call in moved if refused[1] in call]:
                    segment["keep"][call] = moved.pop(call)
                if segment.get("offload") and not moved and not segment["offload"]["inputs"]:
                    del segment["offload"]


def main(name: str) -> None:
    torch.manual_seed(0)
    model, x = MODELS[name][0]().train(), MODELS[name][1]()
    onnx_mem.record(model, (x,)).save(HERE / f"{name}.eager")
    choose = random.Random(name)
    plans = []
    for _ in range(PLANS):
        segments = drawn(name, choose)
        step = settled(name, segments)
        plans.append({"segments": segments, "peak_bytes": step.peak_bytes,
                      "live": [m.live for m in step.course if m.allocated > 0 and m.phase != "optimizer"]})
    truth = {"record": f"{name}.eager", "batch": BATCH, "optimizer": "sgd", "torch": torch.__version__,
             "peak_bytes": measured(name, []).peak_bytes, "plans": plans}
    (HERE / f"{name}.json.gz").write_bytes(
        gzip.compress(json.dumps(truth, separators=(",", ":")).encode(), 9, mtime=0))
    print(name, truth["peak_bytes"], [plan["peak_bytes"] for plan in plans])


for given_name in sys.argv[1:] or MODELS:
    main(given_name)
