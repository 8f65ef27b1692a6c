# activations
import torch
from torch import nn

CARD = {"capacity": 300 << 20}


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return x + self.second(torch.relu(self.norm(self.first(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.blocks = nn.ModuleList(Block(32) for _ in range(8))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


def run(card):
    card.record()
    model = Net().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(3):
        x, y = torch.randn(128, 3, 32, 32).to("cuda"), torch.randint(10, (128,)).to("cuda")
        loss = nn.functional.cross_entropy(model(x), y)  # planted
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
