# fragmentation
import torch
from torch import nn

CARD = {"capacity": 280 << 20}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 256)
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(6))
        self.head = nn.Linear(256, 1000)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.head(x)


def run(card):
    card.record()
    model = Model().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    # Longer and longer sentences: no block that is free fits the next ones.
    for length in range(150, 1100, 13):
        tokens = torch.randint(1000, (8, length)).to("cuda")
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
