#!/usr/bin/env python3
"""What do kept calls take on the CPU?

    measure_modes.py [--steps 60]

A module of 200 calls on one element, in which next to nothing is computed, is put in torch.utils.checkpoint and in
onnx_mem.checkpoint with no call, half of the calls, or all calls kept. Processor time of forward and of backward per
call of the module, least of all steps, in microseconds.
"""
import argparse
import time

import torch

from onnx_mem._checkpoint import applied

CALLS = 200


class Block(torch.nn.Module):
    def forward(self, x):
        for _ in range(CALLS // 2):
            x = torch.tanh(x * x)
        return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x).sum()


def least(plan, steps):
    model = applied.apply(Net(), plan)
    x = torch.ones(1, requires_grad=True)
    times = []
    for _ in range(steps):
        began = time.process_time_ns()
        loss = model(x)
        between = time.process_time_ns()
        loss.backward()
        times.append((between - began, time.process_time_ns() - between))
        x.grad = None
    return [min(part) / CALLS / 1e3 for part in zip(*times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    half = {f"block:aten.tanh.default#{i}": [0] for i in range(CALLS // 2)}
    every = {**half, **{f"block:aten.mul.Tensor#{i}": [0] for i in range(CALLS // 2)}}
    plans = {"without": [], "checkpoint": [{"modules": ["block"]}],
             "none kept": [{"modules": ["block"], "keep": {}, "skip": []}],
             "half kept": [{"modules": ["block"], "keep": half}],
             "all kept": [{"modules": ["block"], "keep": every}]}
    for name, plan in plans.items():
        print(f"{name:12} forward {{:6.2f}}  backward {{:6.2f}}".format(*least(plan, args.steps)))


if __name__ == "__main__":
    main()
