# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30}


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


@torch.no_grad()
def validate(model):
    right = 0
    for _ in range(3):
        x, y = torch.randn(32, 3, 32, 32).to("cuda"), torch.randint(10, (32,)).to("cuda")
        right += (model(x).argmax(1) == y).sum().item()
    return right


def run(card):
    card.record()
    blocks = [Block(32) for _ in range(4)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *blocks, *head).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for _ in range(3):
        total = 0.0
        for _ in range(3):
            x, y = torch.randn(32, 3, 32, 32).to("cuda"), torch.randint(10, (32,)).to("cuda")
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        validate(model)
    card.finish()
