"""--lora on a record of the base model is what a model with adapters takes."""
import pytest
import torch
from torch import nn

import onnx_mem

RANK = 4


class Lora(nn.Module):
    """A layer with an adapter: forward is that of LoraLayer in peft/tuners/lora/layer.py."""

    def __init__(self, base_layer, p):
        super().__init__()
        self.base_layer = base_layer
        self.lora_dropout = nn.Dropout(p) if p else nn.Identity()
        if isinstance(base_layer, nn.Conv2d):
            self.lora_A = nn.Conv2d(base_layer.in_channels, RANK, base_layer.kernel_size, base_layer.stride,
                                    base_layer.padding, bias=False)
            self.lora_B = nn.Conv2d(RANK, base_layer.out_channels, 1, bias=False)
        else:
            self.lora_A = nn.Linear(base_layer.in_features, RANK, bias=False)
            self.lora_B = nn.Linear(RANK, base_layer.out_features, bias=False)
        self.scaling = 2.0

    def forward(self, x):
        result = self.base_layer(x)
        result_dtype = result.dtype
        x = x.to(self.lora_A.weight.dtype)
        result = result + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling
        return result.to(result_dtype)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.q_proj, self.up, self.down = nn.Linear(64, 64), nn.Linear(64, 256, bias=False), nn.Linear(256, 64)

    def forward(self, x):
        x = x + self.q_proj(self.norm(x))
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, stride=2)

    def forward(self, x):
        return self.second(self.first(x).relu())


def with_adapters(model, names, p):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in names:
                setattr(module, name, Lora(child, p))
    return model


def same(report, training, inference):
    found = (report.training.peak_bytes, report.training.first_step_peak_bytes,
             report.training.saved_activation_bytes, report.inference.peak_bytes)
    return found == (training.peak_bytes, training.first_step_peak_bytes, training.saved_activation_bytes,
                     inference.peak_bytes)


@pytest.mark.parametrize("p", [0.0, 0.1])
@pytest.mark.parametrize("names", [("q_proj",), ("q_proj", "up", "down")])
def test_linear_layers(names, p, program):
    torch.manual_seed(0)
    base, x = nn.Sequential(Block(), Block()), torch.randn(2, 10, 64)
    report = onnx_mem.analyze(base, x, batch=7, loss="mean", lora=f"{RANK},{p}:{'|'.join(names)}")
    adapted = with_adapters(base, names, p)
    training = onnx_mem.measure(adapted, x, batch=7, loss="mean")
    assert same(report, training, onnx_mem.measure(adapted, x, batch=7, training=False)), (report, training)


def test_convolutions(program):
    base, x = Convolutions(), torch.randn(2, 3, 16, 16)
    report = onnx_mem.analyze(base, x, batch=5, loss="mean", lora=f"{RANK}:first|second")
    adapted = with_adapters(base, ("first", "second"), 0.0)
    training = onnx_mem.measure(adapted, x, batch=5, loss="mean")
    assert same(report, training, onnx_mem.measure(adapted, x, batch=5, training=False)), (report, training)


def test_half_precision_has_adapters_in_float32(program):
    base, x = nn.Sequential(Block(), Block()), torch.randn(2, 10, 64)
    report = onnx_mem.analyze(base, x, batch=7, loss="mean", dtype="bf16", lora=f"{RANK}:q_proj|up|down")
    adapted = with_adapters(base.to(torch.bfloat16), ("q_proj", "up", "down"), 0.0)
    training = onnx_mem.measure(adapted, x.to(torch.bfloat16), batch=7, loss="mean")
    assert report.training.saved_activation_bytes == training.saved_activation_bytes


def test_what_matches_nothing_is_refused(program):
    with pytest.raises(onnx_mem.Error) as error:
        onnx_mem.analyze(nn.Sequential(Block()), torch.randn(2, 10, 64), lora="4:v_proj")
    assert error.value.code == "no-match"
