"""Writes models/NAME.onnx and measured/NAME.json: ordinary modules that exporters take apart or fold, and what a step
takes.

usage: make_modules.py TESTDATA_FOLDER
Needs torch, onnx and this project's Python package. Weights are taken out: parameters are drawn at random.
"""
import json
import pathlib
import sys

import onnx
import torch
import torch.nn.functional as F
from onnx.external_data_helper import set_external_data
from torch import nn

import onnx_mem

BATCH = 8


class GatedActivations(nn.Sequential):
    """Activations without an operator in opset 13."""
    def __init__(self):
        layers = [nn.Conv2d(3, 16, 3, padding=1), nn.Hardswish()]
        for activation in (nn.Mish(), nn.GLU(dim=1), nn.SiLU(), nn.GELU(approximate="tanh"), nn.GELU()):
            channels = 32 if isinstance(activation, nn.GLU) else 16
            layers += [nn.Conv2d(16, channels, 3, padding=1), activation]
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class Norms(nn.Module):
    """Normalisations without an operator in opset 13, and a sum with a product."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.groups = nn.GroupNorm(4, 16)
        self.conv = nn.Conv2d(16, 16, 3, padding=1)
        self.embed = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.scale = nn.Parameter(torch.ones(32))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.groups(self.stem(x)))
        x = self.conv(x).flatten(2).transpose(1, 2)
        x = self.embed(x)
        x = torch.addcmul(x, self.norm(x), self.scale)
        return self.head(x.mean(1))


class NormedWeights(nn.Module):
    """Convolutions and linear layers whose weights have a direction and a length."""
    def __init__(self):
        super().__init__()
        normed = nn.utils.parametrizations.weight_norm
        self.pre = normed(nn.Conv1d(8, 64, 7, padding=3))
        self.up = normed(nn.ConvTranspose1d(64, 32, 4, stride=2, padding=1))
        self.post = normed(nn.Conv1d(32, 8, 7, padding=3))

    def forward(self, x):
        x = F.leaky_relu(self.pre(x), 0.1)
        x = F.leaky_relu(self.up(x), 0.1)
        return torch.tanh(self.post(x))


class Cells(nn.Module):
    """Recurrent cells that code steps through."""
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(16, 32)
        self.gru = nn.GRUCell(32, 32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        h, c, g = (x.new_zeros(x.shape[0], 32) for _ in range(3))
        for t in range(4):
            h, c = self.lstm(x[:, t], (h, c))
            g = self.gru(h, g)
        return self.head(g)


class GroupedAttention(nn.Module):
    """Decoder attention, keys and values shared by groups of queries, weights computed in float32."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 64)
        self.q, self.out = nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False)
        self.k, self.v = nn.Linear(64, 16, bias=False), nn.Linear(64, 16, bias=False)
        self.head = nn.Linear(64, 64, bias=False)

    def heads(self, x, count):
        x = x.view(x.shape[0], x.shape[1], count, 8).transpose(1, 2)
        if count == 8:
            return x
        batch, groups, length, size = x.shape
        x = x[:, :, None, :, :].expand(batch, groups, 8 // groups, length, size)
        return x.reshape(batch, 8, length, size)

    def attend(self, q, k, v):
        scores = torch.matmul(q, k.transpose(2, 3)) * 8 ** -0.5
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(weights, v)

    def forward(self, ids):
        x = self.embed(ids)
        y = self.attend(self.heads(self.q(x), 8), self.heads(self.k(x), 2), self.heads(self.v(x), 2))
        y = y.transpose(1, 2).reshape(x.shape)
        return self.head(x + self.out(y))


def strip(proto):
    """Takes every tensor over 1 KiB out."""
    for tensor in proto.graph.initializer:
        if len(tensor.raw_data) > 1024:
            set_external_data(tensor, location="weights.bin")
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL


def export(model, args, path, opset):
    training = model.training
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(model, args, str(path), dynamo=False, opset_version=opset, training=mode,
                      do_constant_folding=not training, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    proto = onnx.load(str(path))
    strip(proto)
    onnx.save(proto, str(path))


def case(model, args, file, dtype=None):
    """One step with Adam and the mean as loss, and one inference."""
    words = ["--batch", str(BATCH), "--loss", "mean", "--optimizer", "adam"]
    if dtype is not None:
        model, words = model.to(dtype), words + ["--dtype", {torch.float16: "fp16", torch.bfloat16: "bf16"}[dtype]]
        args = tuple(a.to(dtype) if a.is_floating_point() else a for a in args)
    measured = onnx_mem.measure(model, args, optimizer="adam", loss="mean", batch=BATCH)
    inference = onnx_mem.measure(model, args, training=False, batch=BATCH)
    return {"file": file, "arguments": words,
            "training": {"peak_bytes": measured.peak_bytes, "first_step_peak_bytes": measured.first_step_peak_bytes,
                         "saved_activation_bytes": measured.saved_activation_bytes},
            "inference": {"peak_bytes": inference.peak_bytes}}


def write(testdata, name, make, args, files, dtype=None):
    cases = []
    for form, opset in files:
        torch.manual_seed(0)
        model = make().train(form == "train")
        file = f"{name}.{form}.ts.op{opset}.onnx"
        export(model, args, testdata / "models" / file, opset)
        cases.append(case(make(), args, file, dtype))
    head = json.dumps({"model": name, "source": "testdata/make_modules.py", "torch": torch.__version__.split("+")[0],
                       "made": "2026-11-23"})
    body = ",\n    ".join(json.dumps(c) for c in cases)
    (testdata / "measured" / f"{name}.json").write_text(f'{head[:-1]},\n  "cases": [\n    {body}\n  ]\n}}\n')


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    image = (torch.randn(2, 3, 16, 16),)
    write(out, "gated_activations", GatedActivations, image, [("train", 13)])
    write(out, "norms", Norms, image, [("train", 13)])
    write(out, "normed_weights", NormedWeights, (torch.randn(2, 8, 64),), [("train", 17), ("eval", 17)])
    write(out, "cells", Cells, (torch.randn(2, 4, 16),), [("train", 17)])
    write(out, "grouped_attention", GroupedAttention, (torch.zeros(2, 32, dtype=torch.long),), [("train", 17)],
          torch.float16)
