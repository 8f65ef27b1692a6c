# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 300 << 20}


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 8192)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, foreach=True)
    predictions = []
    for _ in range(100):
        x = torch.randn(256, 128).to("cuda")
        y = torch.randint(8192, (256,)).to("cuda")
        out = model(x)  # planted
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        predictions.append(out.detach())
