# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 128 << 20, "stacks": "python"}


class Tracker:
    def __init__(self, net):
        self.net = net
        self.frames = []

    @torch.inference_mode()
    def follow(self, frame):
        small = nn.functional.interpolate(frame, scale_factor=0.5)
        self.frames.append(small - small.mean())  # planted
        return self.net(small).amax((2, 3)).tolist()


def run(card):
    card.record()
    tracker = Tracker(nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.Conv2d(8, 4, 5)).to("cuda"))
    for _ in range(600):
        tracker.follow(torch.rand(1, 3, 360, 480).to("cuda"))
