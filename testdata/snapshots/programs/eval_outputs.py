# missing-no-grad
import torch
from torch import nn

CARD = {"capacity": 300 << 20, "stacks": "python", "protocol": 5}


def loaded(count):
    for _ in range(count):
        yield torch.randn(512, 256), torch.randint(10, (512,))


def fit(model, optimizer):
    for x, y in loaded(4):
        x = x.to("cuda")
        y = y.to("cuda")
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def test(model):
    logits = []
    for x, _ in loaded(100):
        x = x.to("cuda")
        logits.append(model(x))  # planted
    return torch.cat(logits)


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 512), nn.Tanh(), nn.Linear(512, 10))
    model = model.to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    fit(model, optimizer)
    test(model)
