"""The CTC loss: its sizes follow from the values of the targets' lengths."""
import pytest
import torch
from torch import nn

import onnx_mem


class Speech(nn.Module):
    def __init__(self, reduction="mean", zero_infinity=False):
        super().__init__()
        self.layer, self.loss = nn.Linear(8, 12), nn.CTCLoss(reduction=reduction, zero_infinity=zero_infinity)

    def forward(self, signal, labels):
        there = labels >= 0
        logs = self.layer(signal).log_softmax(-1).transpose(0, 1)
        steps = torch.full((signal.shape[0],), signal.shape[1])
        return {"loss": self.loss(logs, labels.masked_select(there), steps, there.sum(-1)).sum()}


def inputs(longest=5):
    labels = torch.full((2, 7), -100)
    labels[:, :longest] = 1
    return dict(signal=torch.zeros(2, 30, 8), labels=labels)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_a_record_runs_as_the_model_does(reduction, zero_infinity):
    model = Speech(reduction, zero_infinity)
    with pytest.warns(UserWarning, match="forward reads values of its inputs"):
        record = onnx_mem.record(model, **inputs())
    for batch in (2, 3):
        for training in (True, False):
            verified = onnx_mem.verify(record, model, batch=batch, training=training, **inputs())
            assert verified.same, str(verified)


def test_alpha_and_beta_are_as_wide_as_the_longest_target():
    short, long = (onnx_mem.measure(Speech(), optimizer="none", **inputs(n)) for n in (4, 6))
    assert short.peak_operator == "_ctc_loss_backward.Tensor"
    wider, found = 2 * (6 - 4) * 2 * 30 * 4, 2 * (6 - 4) * 8      # log_alpha and log_beta; the targets
    assert long.peak_bytes - short.peak_bytes == 2 * wider + found


def test_a_step_of_ones_own_counts_them_too():
    model, loss = nn.Linear(8, 12), nn.CTCLoss()
    steps, lengths = torch.tensor([30, 30]), torch.tensor([3, 5])

    def step(x, targets):
        loss(model(x).log_softmax(-1).transpose(0, 1), targets, steps, lengths).backward()

    measured = onnx_mem.measure(step=step, args=(torch.zeros(2, 30, 8), torch.ones(2, 7, dtype=torch.int64)))
    assert measured.peak_operator == "_ctc_loss_backward.Tensor"
    assert any(x.bytes == 2 * 30 * 11 * 4 for x in measured.live_at_peak)


def test_what_cudnn_may_run_is_refused_with_a_way_out():
    class Own(Speech):
        def forward(self, signal, labels):
            logs = self.layer(signal).log_softmax(-1).transpose(0, 1)
            return self.loss(logs, labels.flatten().int(), torch.tensor([30, 30]), torch.tensor([7, 7]))
    with pytest.raises(onnx_mem.Error, match=r"try: targets\.long\(\)"):
        onnx_mem.measure(Own(), **inputs())
