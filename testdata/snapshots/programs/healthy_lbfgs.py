# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30}


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 1)).to("cuda")
    optimizer = torch.optim.LBFGS(model.parameters(), history_size=10, max_iter=5)
    x, y = torch.randn(4096, 32).to("cuda"), torch.randn(4096, 1).to("cuda")

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(6):
        optimizer.step(closure)
    card.finish()
