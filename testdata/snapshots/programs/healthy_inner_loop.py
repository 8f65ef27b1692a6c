# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30}


def inner(model, weights, x, y):
    for _ in range(3):
        out = torch.func.functional_call(model, weights, (x,))
        loss = nn.functional.mse_loss(out, y)
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {name: w - 0.1 * slope for (name, w), slope in zip(weights.items(), slopes, strict=True)}
    return nn.functional.mse_loss(torch.func.functional_call(model, weights, (x,)), y)


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    for _ in range(6):
        x, y = torch.randn(512, 64).to("cuda"), torch.randn(512, 64).to("cuda")
        loss = inner(model, dict(model.named_parameters()), x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    card.finish()
