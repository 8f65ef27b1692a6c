# kept-graph
import torch
from torch import nn

CARD = {"capacity": 200 << 20}


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 512)
        self.second = nn.Linear(512, 512)
        self.last = nn.Linear(512, 1)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.second(x))
        return self.last(x)


def train(critic, optimizer):
    norms = []
    for _ in range(80):
        x = torch.randn(1024, 256).to("cuda").requires_grad_()
        score = critic(x)  # planted
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        norm = slope.norm(dim=1)
        norms.append(norm)
        loss = score.mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()


def run(card):
    card.record()
    critic = Critic().to("cuda")
    train(critic, torch.optim.SGD(critic.parameters(), lr=0.01, foreach=True))
