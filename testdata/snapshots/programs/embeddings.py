# no-backward
import torch
from torch import nn

CARD = {"capacity": 256 << 20}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(2000, 256)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 512, 0.0, batch_first=True) for _ in range(2))

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return x.mean(1)


def main(card):
    encoder = Encoder().to("cuda")
    found = []
    for _ in range(100):
        tokens = torch.randint(2000, (16, 64)).to("cuda")
        found.append(encoder(tokens))  # planted
    return torch.cat(found)


def run(card):
    card.record()
    main(card)
