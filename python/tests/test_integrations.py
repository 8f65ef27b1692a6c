"""The callbacks in real runs of training on the CPU, with real and with pretended counters of CUDA."""
import logging
import re
import types
import warnings

import pytest
import torch

import onnx_mem

transformers = pytest.importorskip("transformers")
lightning = pytest.importorskip("lightning")

from onnx_mem.integrations import _first_step  # noqa: E402
from onnx_mem.integrations import lightning as for_lightning  # noqa: E402
from onnx_mem.integrations import transformers as for_transformers  # noqa: E402


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.layers(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Odd(torch.optim.SGD):
    """An optimizer that the program has no word for."""


def run_lightning(net=None, **options):
    callback = for_lightning.MemoryReport()
    data = torch.utils.data.TensorDataset(torch.randn(32, 64), torch.zeros(32, dtype=torch.int64))
    trainer = lightning.Trainer(max_steps=4, callbacks=[callback], accelerator="cpu", logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                                **options)
    trainer.fit(net or Net(), torch.utils.data.DataLoader(data, batch_size=8))
    return trainer.global_step


def run_transformers(folder, **options):
    config = transformers.BertConfig(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64,
                                     vocab_size=100, max_position_embeddings=16)
    model = transformers.BertForSequenceClassification(config)
    ids = torch.arange(16)
    data = [{"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": 1}] * 16
    args = transformers.TrainingArguments(str(folder), max_steps=3, per_device_train_batch_size=4, use_cpu=True,
                                          report_to=[], save_strategy="no", disable_tqdm=True, **options)
    trainer = transformers.Trainer(model=model, args=args, train_dataset=data,
                                   callbacks=[for_transformers.MemoryReport()])
    trainer.train()
    return trainer.state.global_step


@pytest.fixture(autouse=True)
def quiet(program, monkeypatch):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def pretend(monkeypatch, taken):
    """A card that counted so many bytes."""
    calls = []
    monkeypatch.setattr(_first_step, "cuda", types.SimpleNamespace(
        is_available=lambda: True, max_memory_allocated=lambda: taken,
        reset_peak_memory_stats=lambda: calls.append("reset")))
    return calls


def lines(text):
    return [line for line in text.splitlines() if line.startswith("onnx-mem:")]


def test_lightning_without_a_card(capsys):
    assert run_lightning() == 4
    (line,) = lines(capsys.readouterr().out)
    assert "batch 8: predicted" in line and "no CUDA here" in line and "counts the same" in line


def test_transformers_without_a_card(capsys, tmp_path):
    assert run_transformers(tmp_path) == 3
    (line,) = lines(capsys.readouterr().out)
    assert "batch 4: predicted" in line and "counts the same" in line


@pytest.mark.parametrize("run", ["lightning", "transformers"])
@pytest.mark.parametrize("taken, words", [(10 * 2**30, "more than the range"), (1024, "less than the range")])
def test_a_step_outside_the_range_is_warned_of(run, taken, words, capsys, monkeypatch, tmp_path):
    resets = pretend(monkeypatch, taken)
    with pytest.warns(_first_step.Differs, match=words):
        run_lightning() if run == "lightning" else run_transformers(tmp_path)
    (line,) = lines(capsys.readouterr().out)
    assert "torch.cuda.max_memory_allocated() " in line and resets == ["reset"]


def test_a_step_within_the_range_is_only_said(capsys, monkeypatch):
    run_lightning()
    predicted = re.search(r"predicted ([\d.]+) MiB", capsys.readouterr().out)
    pretend(monkeypatch, round(float(predicted[1]) * 2**20) + 4096)
    with warnings.catch_warnings():
        warnings.simplefilter("error", _first_step.Differs)
        run_lightning()
    captured = capsys.readouterr()
    assert len(lines(captured.out)) == 1 and not lines(captured.err)


def test_several_batches_for_a_step(capsys, tmp_path):
    run_lightning(accumulate_grad_batches=2)
    run_transformers(tmp_path, gradient_accumulation_steps=2)
    found = lines(capsys.readouterr().out)
    assert len(found) == 2 and all("counts the same" in line for line in found)


def test_autocast(capsys):
    run_lightning(precision="bf16-mixed")
    (line,) = lines(capsys.readouterr().out)
    assert "counts the same" in line


def test_an_optimizer_without_a_word(capsys):
    class Other(Net):
        def configure_optimizers(self):
            return Odd(self.parameters(), lr=0.1, momentum=0.9)
    run_lightning(Other())
    (line,) = lines(capsys.readouterr().out)
    assert "predicted" in line and "onnx_mem.measure() counts" in line
    optimizer = Odd([torch.nn.Parameter(torch.zeros(10))], lr=0.1, momentum=0.9)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(10)
    optimizer.step()
    assert _first_step._of_optimizer(optimizer) == {"optimizer": 4.0}


@pytest.mark.parametrize("error", [RuntimeError("no such thing"), onnx_mem.Error("cannot", "bad-model"), KeyError()])
@pytest.mark.parametrize("run", ["lightning", "transformers"])
def test_a_failure_is_one_warning_and_training_goes_on(run, error, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise error
    monkeypatch.setattr(_first_step, "analyze", fail)
    with pytest.warns(UserWarning, match="is not compared") as seen:
        steps = run_lightning() if run == "lightning" else run_transformers(tmp_path)
    assert steps == (4 if run == "lightning" else 3)
    assert sum("is not compared" in str(w.message) for w in seen) == 1


def test_a_failure_where_warnings_are_errors(monkeypatch, capsys):
    monkeypatch.setattr(_first_step, "analyze", lambda *_, **__: 1 / 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="onnx-mem")
        assert run_lightning() == 4
    assert len(lines(capsys.readouterr().err)) == 1


def test_the_model_is_as_it_was_behind_a_report(capsys):
    net = Net()
    run_lightning(net)
    assert net._trainer is not None and set(dict(net.named_modules())) == set(dict(Net().named_modules()))


def test_forward_that_accelerate_wrapped_is_put_back():
    net = torch.nn.Linear(2, 2)
    net._original_forward = net.forward
    net.forward = wrapped = lambda x: x
    with _first_step._plain_forward(net):
        assert net.forward.__func__ is torch.nn.Linear.forward
    assert net.forward is wrapped
