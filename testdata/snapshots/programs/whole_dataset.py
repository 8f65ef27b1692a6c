# held-data
import torch
from torch import nn

CARD = {"capacity": 220 << 20}


def run(card):
    card.record()
    images = torch.rand(12_000, 3, 36, 36).to("cuda")  # planted
    body = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU())
    model = nn.Sequential(body, nn.Flatten(), nn.Linear(32 * 32 * 32, 10))
    model.to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    for at in range(0, 12_000, 128):
        loss = model(images[at : at + 128]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
