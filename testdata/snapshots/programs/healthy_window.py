# healthy
import collections

import torch
from torch import nn

CARD = {"capacity": 1 << 30}


def run(card):
    card.record()
    net = nn.Sequential(nn.Linear(256, 512), nn.ELU(), nn.Linear(512, 256)).to("cuda")
    optimizer = torch.optim.Adamax(net.parameters(), foreach=True)
    last = collections.deque(maxlen=4)
    for _ in range(40):
        x = torch.randn(512, 256).to("cuda")
        out = net(x)
        loss = (out - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last.append(out.detach())
    card.finish()
