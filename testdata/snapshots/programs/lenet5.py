# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 26 << 20}


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5, padding=2)
        self.c2 = nn.Conv2d(6, 16, 5)
        self.pool = nn.AvgPool2d(2)
        self.f1 = nn.Linear(400, 120)
        self.f2 = nn.Linear(120, 84)
        self.f3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(torch.sigmoid(self.c1(x)))
        x = self.pool(torch.sigmoid(self.c2(x)))
        x = torch.sigmoid(self.f1(torch.flatten(x, 1)))
        return self.f3(torch.sigmoid(self.f2(x)))


def run(card):
    card.record()
    model = LeNet5().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    hardest = []
    for _ in range(400):
        x = torch.randn(64, 1, 28, 28).to("cuda")  # planted
        y = torch.randint(10, (64,)).to("cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        hardest.append((loss.item(), x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
