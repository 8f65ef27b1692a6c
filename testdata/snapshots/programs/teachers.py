# model-copies
import copy

import torch
from torch import nn

CARD = {"capacity": 200 << 20}


def copies_of(model, count):
    return [copy.deepcopy(model).requires_grad_(False) for _ in range(count)]  # planted


def run(card):
    card.record()
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(6)]).to("cuda")
    teachers = copies_of(model, 4)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    for _ in range(3):
        x = torch.randn(256, 1024).to("cuda")
        with torch.no_grad():
            wanted = sum(teacher(x) for teacher in teachers) / 4
        loss = (model(x) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
