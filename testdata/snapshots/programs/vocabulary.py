# activations
import torch
from torch import nn

CARD = {"capacity": 420 << 20}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(24_000, 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
        self.head = nn.Linear(64, 24_000, bias=False)

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens)))


def step(model, optimizer, tokens):
    logits = model(tokens)  # planted
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def run(card):
    model = Model().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    card.record()
    for length in (64, 64, 128, 192, 256):
        step(model, optimizer, torch.randint(24_000, (8, length)).to("cuda"))
