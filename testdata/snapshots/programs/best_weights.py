# growing-tensors
import copy

import torch
from torch import nn

CARD = {"capacity": 256 << 20}


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    model.to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    weights = []
    for _ in range(60):
        for _ in range(2):
            x = torch.randn(64, 512).to("cuda")
            y = torch.randint(10, (64,)).to("cuda")
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        weights.append(copy.deepcopy(model.state_dict()))  # planted
