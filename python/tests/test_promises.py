"""What plan and fit promise of a recorded model is what its own code takes."""
import json
import subprocess

import pytest
import torch
from torch import nn

import onnx_mem
from models import MODELS

BUDGET_STEPS = (0.9, 0.8)     # of what the step takes without a plan
OVERHEAD = 10 ** 9            # more than the context and workspaces that a budget counts


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                                  nn.Conv2d(16, 16, 3, padding=1)) for _ in range(4))
        self.stem, self.head = nn.Conv2d(3, 16, 3, padding=1), nn.Linear(16, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


def asked(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    return done.stdout


def planned(program, path, batch, plan, folder):
    """The model's apply_plan, and the peak that the program says for `plan`."""
    kept = folder / "plan.json"
    kept.write_text(json.dumps(plan))
    words = [str(path), "--batch", str(batch), "--plan", str(kept)]
    names: dict = {}
    exec(compile(asked(program, "plan", *words, "--emit", "pytorch"), "plan.py", "exec"), names)
    said = json.loads(asked(program, *words, "--mode", "train", "--format", "json"))
    return names["apply_plan"], said["runs"][0]["training"]["peak_bytes"]


@pytest.mark.parametrize("name", ["Net", "resnet", "gpt2"])
def test_plans(name, program, tmp_path):
    if name == "Net":
        model, args, kwargs = Net(), (torch.randn(2, 3, 16, 16),), {}
    elif name in MODELS:
        model, args, kwargs, _ = MODELS[name]()
    else:
        pytest.skip(f"no {name} among the models of the committed records")
    batch = 8
    path = onnx_mem.export(model, args, tmp_path / "model.eager", kwargs=kwargs)
    answer = onnx_mem.plan(path, batch=batch, budget=f"{OVERHEAD}B")
    checked = 0
    for plan in answer.plans:
        if not plan.get("segments"):
            continue
        apply_plan, said = planned(program, path, batch, plan, tmp_path)
        torch.manual_seed(0)
        took = onnx_mem.measure(apply_plan(model), args, kwargs=kwargs, batch=batch)
        assert abs(took.peak_bytes - said) <= 0.001 * said, (plan["segments"], took.peak_bytes, said)
        checked += 1
        break
    assert checked or name != "Net"


def test_the_largest_batch(program, tmp_path):
    path = onnx_mem.export(Net(), (torch.randn(2, 3, 16, 16),), tmp_path / "model.eager")
    answer = onnx_mem.fit(path, gpu_memory="600MiB")
    at = onnx_mem.analyze(path, batch=answer.largest_batch)
    took = onnx_mem.measure(Net(), (torch.randn(2, 3, 16, 16),), batch=answer.largest_batch)
    assert abs(took.peak_bytes - at.training.peak_bytes) <= 0.001 * took.peak_bytes
    assert at.training.device_bytes == answer.training["largest_batch_device_bytes"] <= 600 << 20
    assert answer.training["next_batch_device_bytes"] > 600 << 20
