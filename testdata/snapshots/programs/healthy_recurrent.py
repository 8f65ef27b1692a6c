# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30, "protocol": 2, "max_entries": 1500}


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(300, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, 300)

    def forward(self, tokens, hidden):
        outs = []
        for t in range(tokens.shape[1]):
            hidden = self.cell(self.embed(tokens[:, t]), hidden)
            outs.append(self.head(hidden))
        return torch.stack(outs, 1), hidden


def run(card):
    card.record()
    reader = Reader(128).to("cuda")
    optimizer = torch.optim.RMSprop(reader.parameters(), foreach=True)
    hidden = torch.zeros(32, 128, device="cuda")
    for _ in range(12):
        tokens = torch.randint(300, (32, 16)).to("cuda")
        logits, hidden = reader(tokens, hidden)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hidden = hidden.detach()
    card.finish()
