# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 256 << 20, "stacks": "python"}


def epoch(model, optimizer, batches):
    for x, y in batches:
        x, y = x.to("cuda"), y.to("cuda")
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(256, 1024), nn.SiLU(), nn.Linear(1024, 1024), nn.SiLU(), nn.Linear(1024, 4))
    model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    history = []
    for _ in range(80):
        epoch(model, optimizer, [(torch.randn(32, 256), torch.randn(32, 4)) for _ in range(2)])
        history.append([p.detach().clone() for p in model.parameters()])  # planted
