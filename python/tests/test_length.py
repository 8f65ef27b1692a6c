"""A second free size: a record asked at another length is the record that is made there."""
import pytest
import torch
from torch import nn

import onnx_mem

SMALL = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100)


def ids(length, batch=2):
    return torch.zeros((batch, length), dtype=torch.int64)


def gpt2(t):
    return t.GPT2LMHeadModel(t.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=100))


def bert(t):
    return t.BertForSequenceClassification(t.BertConfig(**SMALL))


def llama(t):
    return t.LlamaForCausalLM(t.LlamaConfig(num_key_value_heads=1, **SMALL))


def t5(t):
    return t.T5ForConditionalGeneration(t.T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2,
                                                   vocab_size=100))


class Attention(nn.Module):
    """Scores of every token with every other: quadratic in the length."""

    def __init__(self):
        super().__init__()
        self.tokens, self.qkv, self.out = nn.Embedding(50, 16), nn.Linear(16, 48), nn.Linear(16, 50)

    def forward(self, x):
        q, k, v = self.qkv(self.tokens(x)).chunk(3, -1)
        return self.out((q @ k.transpose(1, 2)).softmax(-1) @ v)


class InWindows(Attention):
    """Pads to windows of 8 where the length is no multiple of it."""

    def forward(self, x):
        if x.shape[1] % 8:
            x = nn.functional.pad(x, (0, 8 - x.shape[1] % 8))
        return super().forward(x)


class UpTo(Attention):
    """Takes another path for long inputs."""

    def forward(self, x):
        y = super().forward(x)
        return y.relu() if x.shape[1] > 60 else y


@pytest.mark.parametrize("make", [gpt2, bert, llama])
def test_a_transformer_at_another_length_is_as_recorded_there(make):
    model = make(pytest.importorskip("transformers"))
    made = onnx_mem.record(model, ids(48), free={"seq": 1}, modes=("train",))
    assert made.free == onnx_mem.Record.from_text(made.text()).free
    assert made.at(90).programs == onnx_mem.record(model, ids(90), modes=("train",)).programs


def test_a_mask_that_is_padded_holds_in_steps():
    model = t5(pytest.importorskip("transformers"))

    def both(length):
        return dict(input_ids=ids(length), decoder_input_ids=ids(length))
    made = onnx_mem.record(model, (), both(48), free={"seq": 1}, modes=("train",))
    assert made.free.step == 8
    assert made.at(88).programs == onnx_mem.record(model, (), both(88), modes=("train",)).programs


def figures(report):
    return (report.training.peak_bytes, report.training.first_step_peak_bytes,
            report.training.saved_activation_bytes, report.inference.peak_bytes)


@pytest.mark.parametrize("suffix", [".eager", ".onnx"])
def test_the_program_asks_for_a_length(suffix, tmp_path, program):
    model, path = Attention(), tmp_path / f"model{suffix}"
    onnx_mem.export(model, ids(40), path, free={"seq": 1})
    for length in (40, 77):
        took = onnx_mem.measure(model, ids(length), batch=5)
        inference = onnx_mem.measure(model, ids(length), batch=5, training=False)
        report = onnx_mem.analyze(path, batch=5, dim=f"seq={length}")
        assert figures(report) == (took.peak_bytes, took.first_step_peak_bytes, took.saved_activation_bytes,
                                   inference.peak_bytes)
    assert figures(onnx_mem.analyze(path, batch=5)) == figures(onnx_mem.analyze(path, batch=5, dim="seq=40"))


def test_a_length_between_the_steps_is_refused(tmp_path, program):
    path = tmp_path / "model.eager"
    onnx_mem.export(InWindows(), ids(40), path, free={"seq": 1})
    with pytest.raises(onnx_mem.Error) as told:
        onnx_mem.analyze(path, dim="seq=45")
    assert told.value.code == "record-sizes" and "seq=48" in str(told.value)


def test_a_branch_on_the_length_leaves_the_batch_alone_free():
    with pytest.warns(UserWarning, match="the batch alone.*branches on the length"):
        made = onnx_mem.record(UpTo(), ids(40), free={"seq": 1}, modes=("eval",))
    assert made.free is None
    assert made == onnx_mem.record(UpTo(), ids(40), modes=("eval",))


def test_dimensions_of_inputs_by_name():
    class Masked(Attention):
        def forward(self, x, mask):
            return super().forward(x) * mask.float().mean((1, 2), keepdim=True)
    made = onnx_mem.record(Masked(), (ids(40), torch.ones(2, 40, 40, dtype=torch.bool)),
                           free={"seq": {"x": 1, "mask": (1, 2)}}, modes=("train",))
    shapes = {v["name"]: v["shape"] for v in made.at(64).programs["train"]["values"] if v["kind"] == "input"}
    assert shapes["mask"][1:] == [64, 64] and shapes["x"][1] == 64


@pytest.mark.parametrize("free", [{"seq": 1, "width": 2}, {"seq": 7}, {"a b": 1}, {"seq": 0},
                                  {"seq": {"x": 0}}])
def test_what_names_no_size_is_refused(free):
    with pytest.raises(onnx_mem.Error) as told:
        onnx_mem.record(Attention(), ids(40), free=free)
    assert told.value.code == "bad-argument"
