# kept-graph
import torch
from torch import nn

CARD = {"capacity": 256 << 20}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 1024)
        self.second = nn.Linear(1024, 1024)
        self.last = nn.Linear(1024, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.tanh(self.second(x))
        return self.last(x)


def attempt(model, optimizer, x, y, bad):
    out = model(x)  # planted
    loss = nn.functional.cross_entropy(out, y)
    if bad:
        raise ValueError("loss is not finite")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def run(card):
    card.record()
    model = Net().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    failed = []
    for step in range(150):
        x, y = torch.randn(1024, 256).to("cuda"), torch.randint(10, (1024,)).to("cuda")
        try:
            attempt(model, optimizer, x, y, bad=step % 4 == 3)
        except ValueError as error:
            failed.append(error)
