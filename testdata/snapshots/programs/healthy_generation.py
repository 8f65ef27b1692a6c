# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30, "expandable": True}


class Attention(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(16, length, width))
        self.register_buffer("values", torch.zeros(16, length, width))

    def forward(self, x, at):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys[:, at : at + 1] = k
        self.values[:, at : at + 1] = v
        weights = torch.softmax(q @ self.keys[:, : at + 1].transpose(1, 2), -1)
        return self.out(weights @ self.values[:, : at + 1])


@torch.inference_mode()
def generate(layers, x, steps):
    for at in range(steps):
        for layer in layers:
            x = torch.tanh(layer(x, at))
    return x


def run(card):
    card.record()
    layers = nn.ModuleList(Attention(256, 200) for _ in range(3)).to("cuda")
    generate(layers, torch.randn(16, 1, 256).to("cuda"), 100)
    card.finish()
