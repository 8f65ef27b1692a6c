# kept-graph
import torch
from torch import nn

CARD = {"capacity": 72 << 20}


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.read = nn.Linear(width, width)
        self.turn = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.read(x) + self.turn(hidden))
        return self.out(hidden), hidden


def train(card):
    cell = Cell(512).to("cuda")
    hidden = torch.zeros(512, 512, device="cuda")
    for _ in range(80):
        x = torch.randn(512, 512).to("cuda")
        out, hidden = cell(x, hidden)  # planted
        loss = out.square().mean()
        loss.backward(retain_graph=True)


def run(card):
    card.record()
    train(card)
