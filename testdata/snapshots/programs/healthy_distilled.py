# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30, "stacks": "python", "protocol": 5}


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(128, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 50)

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


def train(teacher, student, optimizer):
    best = float("inf")
    for _ in range(10):
        x = torch.randn(2048, 128).to("cuda")
        with torch.no_grad():
            wanted = teacher(x)
        loss = nn.functional.kl_div(
            student(x).log_softmax(-1),
            wanted.softmax(-1),
            reduction="batchmean",
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        best = min(best, loss.item())


def run(card):
    card.record()
    teacher, student = Net(1024).to("cuda"), Net(256).to("cuda")
    train(teacher, student, torch.optim.RAdam(student.parameters(), foreach=True))
    card.finish()
