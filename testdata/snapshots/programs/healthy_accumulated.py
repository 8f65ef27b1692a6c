# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30, "stacks": "python"}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 128)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True) for _ in range(3))
        self.head = nn.Linear(128, 500)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def run(card):
    card.record()
    model = Model().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(4):
        for _ in range(4):
            tokens = torch.randint(500, (8, 64)).to("cuda")
            logits = model(tokens)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    card.finish()
