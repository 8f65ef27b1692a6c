# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 200 << 20, "stacks": "python"}


class Features:
    def __init__(self, encoder):
        self.encoder = encoder
        self.cache = {}

    def of(self, index, image):
        if index not in self.cache:
            with torch.no_grad():
                self.cache[index] = self.encoder(image)  # planted
        return self.cache[index]


def run(card):
    card.record()
    encoder = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)).to("cuda")
    head = nn.Linear(32, 10).to("cuda")
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1, foreach=True)
    features = Features(encoder)
    for index in range(400):
        image = torch.randn(8, 3, 32, 32).to("cuda")
        y = torch.randint(10, (8,)).to("cuda")
        pooled = features.of(index, image).mean((2, 3))
        loss = nn.functional.cross_entropy(head(pooled), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
