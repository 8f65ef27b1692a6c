# growing-tensors
import random

import torch
from torch import nn

CARD = {"capacity": 160 << 20}


class Memory:
    def __init__(self):
        self.items = []

    def push(self, state, reward):
        self.items.append((state.clone(), reward))  # planted

    def sample(self, count):
        return torch.stack([state for state, _ in random.sample(self.items, count)])


def run(card):
    card.record()
    random.seed(0)
    value = nn.Sequential(nn.Flatten(), nn.Linear(4 * 84 * 84, 64), nn.ReLU(), nn.Linear(64, 1)).to("cuda")
    optimizer = torch.optim.Adam(value.parameters(), foreach=True)
    memory = Memory()
    state = torch.zeros(16, 4, 84, 84, device="cuda")
    for _ in range(200):
        state = torch.roll(state, 1, 1)
        memory.push(state, 1.0)
        loss = value(memory.sample(1).flatten(0, 1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
