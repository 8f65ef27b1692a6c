# healthy
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

CARD = {"capacity": 1 << 30}


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(256) for _ in range(6))

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x


def run(card):
    model = Model().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    card.record()
    for _ in range(5):
        x = torch.randn(512, 256).to("cuda").requires_grad_()
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    card.finish()
