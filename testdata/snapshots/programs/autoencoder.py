# missing-no-grad
import torch
from torch import nn

CARD = {"capacity": 200 << 20, "stacks": "python"}


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Conv2d(3, 48, 3, stride=2, padding=1)
        self.decode = nn.ConvTranspose2d(48, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.decode(torch.relu(self.encode(x))))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), foreach=True)
        self.validation = []

    def fit(self, epochs):
        for _ in range(epochs):
            for _ in range(4):
                self.step(torch.rand(16, 3, 64, 64).to("cuda"))
            self.validate()

    def step(self, x):
        loss = nn.functional.mse_loss(self.model(x), x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def validate(self):
        for _ in range(2):
            x = torch.rand(16, 3, 64, 64).to("cuda")
            again = self.model(x)  # planted
            self.validation.append(nn.functional.mse_loss(again, x))


def run(card):
    card.record()
    Trainer(Autoencoder().to("cuda")).fit(60)
