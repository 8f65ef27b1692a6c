# healthy
import torch
from torch import nn

CARD = {"capacity": 1 << 30}


def run(card):
    card.record()
    generator = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 784), nn.Tanh()).to("cuda")
    critic = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).to("cuda")
    g_optimizer = torch.optim.Adam(generator.parameters(), foreach=True)
    c_optimizer = torch.optim.Adam(critic.parameters(), foreach=True)
    for _ in range(8):
        for _ in range(3):
            real = torch.randn(1024, 784).to("cuda")
            with torch.no_grad():
                fake = generator(torch.randn(1024, 64, device="cuda"))
            c_loss = critic(fake).mean() - critic(real).mean()
            c_optimizer.zero_grad()
            c_loss.backward()
            c_optimizer.step()
        g_loss = -critic(generator(torch.randn(1024, 64, device="cuda"))).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
    card.finish()
