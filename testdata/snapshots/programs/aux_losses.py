# kept-graph
import torch
from torch import nn

CARD = {"capacity": 256 << 20}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512), nn.GELU())
        self.head = nn.Linear(512, 10)
        self.aux = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1))

    def forward(self, x):
        return self.head(self.body(x))


def run(card):
    card.record()
    model = Net().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    history = []
    for _ in range(100):
        x = torch.randn(1024, 512).to("cuda")
        y = torch.randint(10, (1024,)).to("cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        confidence = model.aux(x).mean()  # planted
        history.append((loss.item(), confidence))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
