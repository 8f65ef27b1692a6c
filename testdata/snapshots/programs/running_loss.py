# missing-no-grad
import torch
from torch import nn

CARD = {"capacity": 300 << 20}


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


def train_epoch(model, optimizer):
    for _ in range(3):
        x, y = torch.randn(16, 3, 32, 32).to("cuda"), torch.randint(10, (16,)).to("cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model):
    model.eval()
    total = 0
    for _ in range(50):
        x, y = torch.randn(16, 3, 32, 32).to("cuda"), torch.randint(10, (16,)).to("cuda")
        out = model(x)  # planted
        total += nn.functional.cross_entropy(out, y)
    return total / 50


def run(card):
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), Block(32), Block(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    ).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    card.record()
    train_epoch(model, optimizer)
    validate(model)
