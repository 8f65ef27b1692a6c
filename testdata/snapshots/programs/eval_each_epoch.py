# missing-no-grad
import torch
from torch import nn

CARD = {"capacity": 220 << 20}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, 3 * width)
        self.b = nn.Linear(3 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.b(nn.functional.silu(self.a(x))))


def main():
    model = nn.Sequential(*[Block(192) for _ in range(6)], nn.Linear(192, 5)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(3):
        model.train()
        for _ in range(3):
            x, y = torch.randn(256, 192).to("cuda"), torch.randint(5, (256,)).to("cuda")
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        x, y = torch.randn(6000, 192).to("cuda"), torch.randint(5, (6000,)).to("cuda")
        print((model(x).argmax(1) == y).float().mean().item())  # planted


def run(card):
    card.record()
    main()
