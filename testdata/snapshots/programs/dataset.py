# held-data
import torch
from torch import nn

CARD = {"capacity": 256 << 20}


def load(count):
    images = [torch.randn(64, 3, 32, 32) for _ in range(count)]
    return [image.to("cuda") for image in images]  # planted


def run(card):
    card.record()
    data = load(240)
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    for x in data:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
