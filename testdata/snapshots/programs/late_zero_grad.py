# gradients-kept
import torch
from torch import nn

CARD = {"capacity": 260 << 20}


def run(card):
    card.record()
    model = nn.Sequential(*[nn.Linear(1536, 1536) for _ in range(6)]).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, foreach=True)
    for batch in (512, 512, 4096):
        x = torch.randn(batch, 1536).to("cuda")
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
