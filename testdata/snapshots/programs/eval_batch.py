# missing-no-grad
import torch
from torch import nn

CARD = {"capacity": 160 << 20}


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def evaluate(model):
    model.eval()
    x = torch.randn(4096, 256).to("cuda")
    return model(x).argmax(1)  # planted


def run(card):
    card.record()
    model = nn.Sequential(*[Layer(256) for _ in range(8)], nn.Linear(256, 100)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for _ in range(4):
        x, y = torch.randn(256, 256).to("cuda"), torch.randint(100, (256,)).to("cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    evaluate(model)
