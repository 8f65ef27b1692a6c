# no-backward
import torch
from torch import nn

CARD = {"capacity": 110 << 20}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3, padding=1)
        self.second = nn.Conv2d(32, 32, 3, padding=1)
        self.last = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.last(x.mean((2, 3)))


def step(model, optimizer, batches):
    loss = 0.0
    for x, y in batches:
        x, y = x.to("cuda"), y.to("cuda")
        loss = loss + nn.functional.cross_entropy(model(x), y) / len(batches)  # planted
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def run(card):
    card.record()
    model = Net().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    for _ in range(3):
        step(model, optimizer, [(torch.randn(16, 3, 32, 32), torch.randint(10, (16,))) for _ in range(32)])
