# no-backward
import torch
from torch import nn

CARD = {"capacity": 180 << 20, "stacks": "python"}


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Linear(128, 512)
        self.act = nn.Linear(512, 128)

    def forward(self, state):
        return torch.log_softmax(self.act(torch.relu(self.see(state))), -1)


def play(policy, steps):
    state = torch.randn(256, 128, device="cuda")
    score = torch.zeros(256, device="cuda")
    for _ in range(steps):
        scores = policy(state)  # planted
        best = scores.max(-1)
        score = score + best.values
        state = torch.roll(state, 1, -1) + torch.nn.functional.one_hot(best.indices, 128)
    return score


def run(card):
    card.record()
    policy = Policy().to("cuda")
    play(policy, 2000)
