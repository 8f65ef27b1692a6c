# growing-block
import torch
from torch import nn

CARD = {"capacity": 220 << 20}


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, past):
        q, k, v = self.qkv(x).chunk(3, -1)
        past = (torch.cat([past[0], k], 1), torch.cat([past[1], v], 1))  # planted
        weights = torch.softmax(q @ past[0].transpose(1, 2), -1)
        return self.out(weights @ past[1]), past


@torch.no_grad()
def generate(layers, x, steps):
    pasts = [(x[:, :0], x[:, :0]) for _ in layers]
    for _ in range(steps):
        h = x
        for i, layer in enumerate(layers):
            h, pasts[i] = layer(h, pasts[i])
        x = torch.tanh(h)
    return x


def run(card):
    card.record()
    layers = nn.ModuleList(Attention(256) for _ in range(4)).to("cuda")
    generate(layers, torch.randn(256, 1, 256).to("cuda"), 400)
