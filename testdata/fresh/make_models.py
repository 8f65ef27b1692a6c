"""Writes the models of this folder: default exports, by dynamo's exporter, of modules that were just made.

usage: make_models.py FOLDER
Needs torch and onnx. Their source lines are taken out: they name files of the machine.
"""
import sys

import onnx
import torch
import torch.nn.functional as F
from torch import nn


class FreshNorms(nn.Module):
    """Norms that fold away: plain, behind a bias of zeros, without scale and shift, transposed convolution, linear."""
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        nn.init.zeros_(self.conv2.bias)
        self.bn2 = nn.BatchNorm2d(12)
        self.conv3 = nn.Conv2d(12, 16, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(16, affine=False)
        self.up = nn.ConvTranspose2d(16, 10, 2, stride=2, bias=False)
        self.bn4 = nn.BatchNorm2d(10)
        self.pre = nn.BatchNorm2d(10)
        self.fc = nn.Linear(10, 6)
        nn.init.zeros_(self.fc.bias)
        self.bn5 = nn.BatchNorm1d(6)
        self.head = nn.Linear(6, 4)
        nn.init.zeros_(self.head.bias)
        self.unused = nn.Linear(6, 3)
    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.relu(self.bn3(self.conv3(x)))
        x = F.relu(self.bn4(self.up(x)))
        x = F.relu(self.pre(x))
        x = x.mean((2, 3))
        return self.head(F.relu(self.bn5(self.fc(x))))


class FreshPads(nn.Module):
    """Pads that fold into convolutions: alike on all sides, beside padding of the convolution, before a folded norm."""
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.conv2 = nn.Conv2d(8, 8, 5, padding=1)
        self.conv3 = nn.Conv2d(8, 8, 3, bias=False)
        self.bn = nn.BatchNorm2d(8)
    def forward(self, x):
        x = F.relu(self.conv1(F.pad(x, (1, 1, 1, 1))))
        x = F.relu(self.conv2(F.pad(x, (1, 1, 1, 1))))
        return F.relu(self.bn(self.conv3(F.pad(x, (1, 1, 1, 1)))))


class FreshTokens(nn.Module):
    """Equal tensors that become one, and biases of zeros that go."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.norm1 = nn.LayerNorm(16)
        self.fc1 = nn.Linear(16, 16)
        self.norm2 = nn.LayerNorm(16)
        self.fc2 = nn.Linear(16, 16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight
        self.scale = nn.Parameter(torch.ones(16))
        for fc in (self.fc1, self.fc2):
            nn.init.zeros_(fc.bias)
    def forward(self, ids):
        x = self.embed(ids)
        x = x + self.fc1(self.norm1(x)) * self.scale
        x = self.norm2(x).flatten(0, 1)
        return self.head(torch.relu(self.fc2(x)))


def save(model, x, name):
    torch.manual_seed(0)
    batch = {0: torch.export.Dim("batch")}
    proto = torch.onnx.export(model, (x,), dynamo=True, dynamic_shapes=(batch,), verbose=False).model_proto
    for node in proto.graph.node:
        kept = [entry for entry in node.metadata_props if entry.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(proto, f"{sys.argv[1]}/{name}.onnx")


if __name__ == "__main__":
    image = torch.randn(2, 3, 16, 16)
    save(FreshNorms(), image, "fresh_norms.train")
    save(FreshNorms().eval(), image, "fresh_norms.eval")
    save(FreshPads(), image, "fresh_pads.train")
    save(FreshTokens(), torch.zeros(2, 5, dtype=torch.long), "fresh_tokens.train")
