# kept-graph
import torch
from torch import nn

CARD = {"capacity": 384 << 20, "stacks": "python"}


def run(card):
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    model.to("cuda")
    card.record()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    losses = []
    for _ in range(60):
        x = torch.randn(1024, 256).to("cuda")
        y = torch.randint(10, (1024,)).to("cuda")
        out = model(x)  # planted
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        losses.append(loss)
