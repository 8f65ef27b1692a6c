"""Layers of bitsandbytes: what a model with them takes, asked of its record, of the base's record and of itself."""
import logging

import pytest
import torch
from test_lora import RANK, Block, same, with_adapters
from torch import nn

import onnx_mem

bitsandbytes = pytest.importorskip("bitsandbytes")
NAMES = ("q_proj", "up", "down")
LAYERS = {"4": lambda i, o, bias: bitsandbytes.nn.Linear4bit(i, o, bias, torch.float32, False, "nf4"),
          "4-double": lambda i, o, bias: bitsandbytes.nn.Linear4bit(i, o, bias, torch.float32, True, "nf4"),
          "8": lambda i, o, bias: bitsandbytes.nn.Linear8bitLt(i, o, bias, has_fp16_weights=False, threshold=6.0)}


@pytest.fixture(autouse=True)
def quiet():
    log = logging.getLogger("bitsandbytes")
    was = log.level
    log.setLevel(logging.ERROR)
    yield
    log.setLevel(was)


class Model(nn.Module):
    """The last layer is not packed, as a head is not."""

    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(64, 48, bias=False)

    def forward(self, x):
        return self.head(self.blocks(x))


def packed(model, bits, quantized):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in NAMES:
                layer = LAYERS[bits](child.in_features, child.out_features, child.bias is not None)
                layer.requires_grad_(False)
                setattr(module, name, layer.to("cpu") if quantized else layer)      # quantizes
    return model


def figures(measured, inference):
    return (measured.peak_bytes, measured.first_step_peak_bytes, measured.saved_activation_bytes,
            inference.peak_bytes)


@pytest.mark.parametrize("bits", list(LAYERS))
def test_three_ways_to_ask_agree(bits, program):
    x = torch.randn(2, 10, 64)
    model = with_adapters(packed(Model(), bits, quantized=False), ("q_proj",), 0.0)
    training = onnx_mem.measure(model, x, loss="mean")
    inference = onnx_mem.measure(model, x, training=False)
    of_base = onnx_mem.analyze(Model(), x, loss="mean", lora=f"{RANK}:q_proj", base_bits=bits, batch=2)
    assert same(of_base, training, inference), (of_base, training, inference)
    of_model = onnx_mem.analyze(model, x, loss="mean", batch=2)
    assert same(of_model, training, inference), (of_model, training, inference)


@pytest.mark.parametrize("bits", list(LAYERS))
def test_a_model_on_a_device_is_one_that_will_be(bits):
    x = torch.randn(2, 10, 64)
    found = [figures(onnx_mem.measure(model, x), onnx_mem.measure(model, x, training=False))
             for model in (packed(Model(), bits, quantized) for quantized in (False, True))]
    assert found[0] == found[1]


@pytest.mark.parametrize("bits", list(LAYERS))
def test_a_step_of_the_users_own_takes_the_same(bits):
    x, model = torch.randn(2, 10, 64), packed(Model(), bits, quantized=True)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.01, foreach=True)

    def step(x):
        optimizer.zero_grad()
        loss = (out := model(x)).mean()  # noqa: F841  (held to the end)
        loss.backward()
        optimizer.step()
    whole, own = onnx_mem.measure(model, x, optimizer="sgd", loss="mean"), onnx_mem.measure(step=step, args=(x,))
    assert own.peak_bytes == whole.peak_bytes
    assert own.breakdown["parameters"] == whole.breakdown["parameters"]
    assert own.breakdown["buffers"] == whole.breakdown["buffers"]


def test_the_model_stays_as_it_was():
    model, x = packed(Model(), "4-double", quantized=True), torch.randn(2, 10, 64)
    was = {name: t.clone() for name, t in model.state_dict().items()}
    codes = dict(bitsandbytes.functional.name2qmap)
    onnx_mem.measure(model, x)
    onnx_mem.record(model, x)
    assert all(torch.equal(t, was[name]) for name, t in model.state_dict().items())
    assert bitsandbytes.functional.name2qmap == codes
    assert type(torch.ops.bitsandbytes.gemm_4bit).__name__ == "OpOverloadPacket"


def test_four_bits_keep_the_packed_weight_and_no_input():
    """The bytes by hand: x and the output of `first` are kept for a weight that trains, nothing for a packed one."""
    class Two(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.first, self.second = nn.Linear(64, 64, bias=False), layer

        def forward(self, x):
            return self.second(self.first(x))
    x = torch.randn(16, 64)
    plain = onnx_mem.measure(Two(nn.Linear(64, 64, bias=False).requires_grad_(False)), x)
    four = onnx_mem.measure(Two(LAYERS["4"](64, 64, False)), x)
    eight = onnx_mem.measure(Two(LAYERS["8"](64, 64, False)), x)
    assert four.saved_activation_bytes == plain.saved_activation_bytes
    assert four.parameter_bytes == 64 * 64 * 4 + 64 * 64 // 2 and four.buffer_bytes == 64 * 4 + 16 * 4
    assert eight.end_of_forward_bytes - eight.parameter_bytes - eight.buffer_bytes >= (
        four.end_of_forward_bytes - four.parameter_bytes - four.buffer_bytes + 16 * 64 * 4)


def test_a_step_wants_layers_that_are_packed():
    model = packed(Model(), "4", quantized=False)

    def step(x):
        model(x).sum().backward()
    with pytest.raises(onnx_mem.Error, match="has few bits only once it was moved") as e:
        onnx_mem.measure(step=step, args=(torch.zeros(2, 10, 64),))
    assert str(e.value).endswith('try: model.to("cpu")')
    model.to("cpu")
    assert onnx_mem.measure(step=step, args=(torch.zeros(2, 10, 64),)).peak_bytes
