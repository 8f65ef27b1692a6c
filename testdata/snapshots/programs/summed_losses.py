# no-backward
import torch
from torch import nn

CARD = {"capacity": 300 << 20, "stacks": "python"}


def losses_of(model, batches):
    for x, y in batches:
        x = x.to("cuda")
        y = y.to("cuda")
        yield nn.functional.cross_entropy(model(x), y)  # planted


def run(card):
    card.record()
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 100))
    model.to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for count in (1, 1, 2, 40):
        batches = [(torch.randn(256, 512), torch.randint(100, (256,))) for _ in range(count)]
        total = torch.stack(list(losses_of(model, batches))).mean()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
