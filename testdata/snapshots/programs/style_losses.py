# kept-graph
import torch
from torch import nn

CARD = {"capacity": 240 << 20, "protocol": 5}


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 16, 3, padding=1)
        self.two = nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x):
        first = torch.relu(self.one(x))
        return first, torch.relu(self.two(first))


def gram(x):
    flat = x.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


def paint(features, image, wanted):
    optimizer = torch.optim.Adam([image], lr=0.02)
    trace = []
    for _ in range(80):
        optimizer.zero_grad()
        seen = features(image)  # planted
        style = sum((gram(a) - b).square().mean() for a, b in zip(seen, wanted, strict=True))
        content = image.square().mean()
        trace.append({"style": style, "content": content.item()})
        content.backward()
        optimizer.step()
    return trace


def run(card):
    card.record()
    features = Features().to("cuda").requires_grad_(False)
    image = torch.rand(1, 3, 160, 160).to("cuda").requires_grad_()
    with torch.no_grad():
        wanted = [gram(x) for x in features(torch.rand(1, 3, 160, 160).to("cuda"))]
    paint(features, image, wanted)
