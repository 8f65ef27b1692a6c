# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 200 << 20, "stacks": "python"}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.q = nn.Linear(64, 64)
        self.k = nn.Linear(64, 64)
        self.out = nn.Linear(64, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        maps = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        return self.out((maps @ x).mean(1)), maps


def run(card):
    card.record()
    model = Classifier().to("cuda")
    optimizer = torch.optim.NAdam(model.parameters(), foreach=True)
    shown = []
    for _ in range(200):
        tokens = torch.randint(1000, (16, 256)).to("cuda")
        y = torch.randint(2, (16,)).to("cuda")
        scores, maps = model(tokens)  # planted
        nn.functional.cross_entropy(scores, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        shown.append(maps)
