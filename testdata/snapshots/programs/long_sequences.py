# activations
import torch
from torch import nn

CARD = {"capacity": 200 << 20}


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 256)
        self.cell = nn.LSTMCell(256, 256)
        self.head = nn.Linear(256, 200)

    def forward(self, tokens):
        hidden = None
        outs = []
        for t in range(tokens.shape[1]):
            hidden = self.cell(self.embed(tokens[:, t]), hidden)
            outs.append(self.head(hidden[0]))
        return torch.stack(outs, 1)


def run(card):
    card.record()
    writer = Writer().to("cuda")
    optimizer = torch.optim.Adam(writer.parameters(), foreach=True)
    for length in (8, 16, 512):
        tokens = torch.randint(200, (64, length)).to("cuda")
        logits = writer(tokens)  # planted
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
