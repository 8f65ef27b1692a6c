# activations
import torch
from torch import nn

CARD = {"capacity": 400 << 20, "stacks": "python", "expandable": True}


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / 8
        weights = torch.softmax(scores, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 128)
        self.layers = nn.ModuleList(Attention(128, 8) for _ in range(6))
        self.head = nn.Linear(128, 500)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def train(model, optimizer):
    for _ in range(3):
        tokens = torch.randint(500, (4, 768)).to("cuda")
        logits = model(tokens)  # planted
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run(card):
    model = Model().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    card.record()
    train(model, optimizer)
