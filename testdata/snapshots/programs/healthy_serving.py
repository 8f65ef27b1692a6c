# healthy
import random

import torch
from torch import nn

CARD = {"capacity": 1 << 30, "stacks": "python"}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 256, 0.0, batch_first=True) for _ in range(3))
        self.head = nn.Linear(128, 1000)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def answer(model, tokens):
    with torch.no_grad():
        return model(tokens.to("cuda")).argmax(-1).cpu()


def run(card):
    card.record()
    random.seed(0)
    model = Model().to("cuda").eval()
    for _ in range(30):
        answer(model, torch.randint(1000, (random.randint(1, 16), random.randint(8, 128))))
    card.finish()
