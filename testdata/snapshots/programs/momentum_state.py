# optimizer-state
import torch
from torch import nn

CARD = {"capacity": 280 << 20, "stacks": "python"}


def train(model, optimizer):
    for _ in range(3):
        x = torch.randn(8, 2048).to("cuda")
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # planted


def run(card):
    card.record()
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(7)]).to("cuda")
    train(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True))
