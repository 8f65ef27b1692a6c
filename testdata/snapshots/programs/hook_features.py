# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 240 << 20, "max_entries": 900}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 1024)
        self.second = nn.Linear(1024, 1024)
        self.third = nn.Linear(1024, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.tanh(self.second(x))
        return self.third(x)


def run(card):
    card.record()
    model = Net().to("cuda")
    seen = []
    model.second.register_forward_hook(lambda module, inputs, output: seen.append(output.detach()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    for _ in range(100):
        x = torch.randn(1024, 256).to("cuda")
        y = torch.randint(10, (1024,)).to("cuda")
        loss = nn.functional.cross_entropy(model(x), y)  # planted
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
