# optimizer-state
import torch
from torch import nn

CARD = {"capacity": 340 << 20}


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(120_000, 128)
        self.items = nn.Embedding(60_000, 128)
        self.mix = nn.Linear(256, 1)

    def forward(self, user, item):
        return self.mix(torch.cat([self.users(user), self.items(item)], -1))


def run(card):
    card.record()
    model = Recommender().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(3):
        user, item = torch.randint(120_000, (512,)).to("cuda"), torch.randint(60_000, (512,)).to("cuda")
        loss = model(user, item).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # planted
