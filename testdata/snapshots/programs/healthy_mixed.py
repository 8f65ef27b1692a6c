# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30, "stacks": "python", "protocol": 3}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(24 * 16 * 16, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def run(card):
    card.record()
    net = Net().to("cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, foreach=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(4):
        for _ in range(3):
            x, y = torch.randn(32, 3, 32, 32).to("cuda"), torch.randint(10, (32,)).to("cuda")
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            net(torch.randn(64, 3, 32, 32).to("cuda")).softmax(-1).cpu()
    card.finish()
