"""A model of two layers that runs a call between them."""
from torch import nn


class Between(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 64)
        self.call = call

    def forward(self, x):
        return self.last(self.call(self.first(x), self.second(x)) * 1.5)


class Loss(Between):
    """The call is its loss."""

    def forward(self, x):
        return self.call(self.first(x), x)
