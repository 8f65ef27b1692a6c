# one-request
import torch
from torch import nn

CARD = {"capacity": 256 << 20}


def error(predicted, target):
    return (predicted - target).square().mean()  # planted


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, foreach=True)
    for _ in range(3):
        x = torch.randn(12_000, 16).to("cuda")
        y = torch.randn(12_000).to("cuda")
        loss = error(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
