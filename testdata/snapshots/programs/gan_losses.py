# kept-graph
import torch
from torch import nn

CARD = {"capacity": 300 << 20, "protocol": 3}


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 512)
        self.out = nn.Linear(512, 784)

    def forward(self, z):
        return torch.tanh(self.out(torch.relu(self.up(z))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(784, 512)
        self.score = nn.Linear(512, 1)

    def forward(self, x):
        return self.score(nn.functional.leaky_relu(self.down(x), 0.2))


def run(card):
    card.record()
    generator, critic = Generator().to("cuda"), Critic().to("cuda")
    g_optimizer = torch.optim.Adam(generator.parameters(), foreach=True)
    c_optimizer = torch.optim.Adam(critic.parameters(), foreach=True)
    curves = {"g": [], "c": []}
    for _ in range(100):
        real = torch.randn(512, 784).to("cuda")
        fake = generator(torch.randn(512, 64, device="cuda"))  # planted
        c_loss = critic(fake.detach()).mean() - critic(real).mean()
        c_optimizer.zero_grad()
        c_loss.backward()
        c_optimizer.step()
        g_loss = -critic(fake).mean()
        g_optimizer.zero_grad()
        g_loss.backward(retain_graph=True)
        g_optimizer.step()
        curves["g"].append(g_loss)
        curves["c"].append(c_loss.item())
