"""Second runs compute what their plan promises, to the FLOP; scripts/check_applied_plans.py asks more models."""
import copy
import pathlib
import sys

import pytest
import torch
from torch import nn

import onnx_mem

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from check_applied_plans import flops_of_step, promised_flops  # noqa: E402


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.heads, self.out = nn.LayerNorm(64), nn.Linear(64, 192), nn.Linear(64, 64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        q, k, v = self.heads(self.norm(x)).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(x)))


def transformer():
    return nn.Sequential(nn.Linear(8, 64), *(Block() for _ in range(4)), nn.Linear(64, 8)), torch.randn(16, 64, 8)


def convolutions():
    blocks = [nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                            nn.Conv2d(16, 16, 3, padding=1, groups=4), nn.SiLU()) for _ in range(4)]
    return nn.Sequential(nn.Conv2d(3, 16, 3), *blocks), torch.randn(16, 3, 32, 32)


@pytest.mark.parametrize("granularity", ["module", "op", "call"])
@pytest.mark.parametrize("make", [transformer, convolutions])
def test_second_runs_compute_what_is_promised(program, make, granularity):
    model, x = make()
    options = {"budget_on": "live", "granularity": granularity, "optimizer": "sgd", "loss": "mean", "batch": len(x)}
    plan = onnx_mem.plan(onnx_mem.record(model, (x,)), budget="75%", **options)
    assert plan.chosen_plan["segments"] and plan.chosen_plan["recompute_flops"] > 0
    assert flops_of_step(plan.apply(copy.deepcopy(model)), (x,), {}) == promised_flops(plan)
    assert flops_of_step(model, (x,), {}) == promised_flops(plan) - plan.chosen_plan["recompute_flops"]
