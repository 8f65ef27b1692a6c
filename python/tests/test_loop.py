"""measure(holds=, zero_grad=, float32_outputs=): facts of a loop, against --trainer of loops that have them."""
import pytest
import torch
from torch import nn

import onnx_mem


class Classifier(nn.Module):
    """Outputs, and parameters with their gradients, that weigh as much as what a step saves."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(64, 512), nn.Linear(512, 4000)

    def forward(self, x):
        return self.head(self.body(x).relu())


class WithLoss(Classifier):
    """Its loss runs under the autocast of its forward, as a LightningModule's does."""

    def forward(self, x):
        scores = super().forward(x)
        return {"loss": nn.functional.cross_entropy(scores, torch.zeros(len(x), dtype=torch.int64)), "scores": scores}


HF = {"holds": "loss"}
LIGHTNING = {"holds": "loss", "zero_grad": "before-backward"}
FABRIC = {"float32_outputs": True}


@pytest.mark.parametrize("make, trainer, loop, precision", [
    (Classifier, "plain", {}, None), (Classifier, "hf", HF, None),
    (Classifier, "hf", {**HF, "float32_outputs": True}, "amp-bf16"), (Classifier, "lightning", LIGHTNING, None),
    (WithLoss, "lightning", LIGHTNING, "amp-bf16"), (Classifier, "fabric", FABRIC, "bf16"),
    (Classifier, "fabric", FABRIC, "amp-bf16")])
@pytest.mark.parametrize("batch", [16, 2000])
def test_a_trainer_is_the_sum_of_its_facts(program, make, trainer, loop, precision, batch):
    x = torch.zeros(batch, 64)
    loss = "auto" if make is WithLoss else "cross-entropy"
    measured = onnx_mem.measure(make(), x, precision=precision, loss=loss, optimizer="sgd", **loop)
    half = {} if precision is None else {"amp": "bf16"} if precision.startswith("amp") else {"dtype": "bf16"}
    record = onnx_mem.record(make(), (x,), precisions=[precision] if precision else [])
    asked = onnx_mem.analyze(record, trainer=trainer, loss=loss, optimizer="sgd", mode="train", batch=batch, **half)
    assert asked.training.peak_bytes == measured.peak_bytes


def test_each_fact_has_its_bytes():
    x = torch.zeros(2000, 64)
    outputs = 2000 * 4000 * 4
    plain = onnx_mem.measure(Classifier(), x, loss="mean", optimizer="none")
    assert onnx_mem.measure(Classifier(), x, loss="mean", optimizer="none", holds="loss").peak_bytes < plain.peak_bytes
    wide = onnx_mem.measure(Classifier(), x, loss="mean", optimizer="none", precision="bf16", float32_outputs=True)
    half = onnx_mem.measure(Classifier(), x, loss="mean", optimizer="none", precision="bf16")
    assert wide.end_of_forward_bytes - half.end_of_forward_bytes >= outputs - outputs // 2
    x = torch.zeros(1, 64)
    plain, kept = (onnx_mem.measure(Classifier(), x, zero_grad=where, optimizer="none").end_of_forward_bytes
                   for where in ("before-forward", "before-backward"))
    assert kept >= plain + 4 * sum(p.numel() for p in Classifier().parameters())


@pytest.mark.parametrize("given", [{"holds": "logits"}, {"zero_grad": "never"}])
def test_other_words_are_refused(given):
    with pytest.raises(onnx_mem.Error, match="one of"):
        onnx_mem.measure(Classifier(), torch.zeros(1, 64), **given)
    with pytest.raises(onnx_mem.Error, match="of your own"):
        onnx_mem.measure(step=lambda: None, float32_outputs=True)


class Narrow(nn.Module):
    """The cast of the first weight is kept by autocast alone: its layer has no input that needs a gradient."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(1024, 256), nn.Linear(256, 256), nn.Linear(256, 64)

    def forward(self, x):
        return self.last(self.second(self.first(x).relu()).relu())


@pytest.mark.parametrize("recorded", [(), ("amp-bf16",)])
@pytest.mark.parametrize("trainer, loop", [("plain", {}), ("hf", {**HF, "float32_outputs": True}), ("fabric", FABRIC)])
def test_casts_live_until_autocast_is_left(program, recorded, trainer, loop):
    """Behind the loss in a plain loop, before it where a wrapper of the model has autocast around forward."""
    x = torch.zeros(512, 1024)
    measured = onnx_mem.measure(Narrow(), x, precision="amp-bf16", loss="cross-entropy", optimizer="none", **loop)
    assert (measured.peak_phase == "loss") == (trainer == "plain"), measured
    record = onnx_mem.record(Narrow(), (x,), precisions=recorded)
    asked = onnx_mem.analyze(record, trainer=trainer, loss="cross-entropy", optimizer="none", mode="train", batch=512,
                             amp="bf16")
    assert asked.training.peak_bytes == measured.peak_bytes
