# fragmentation
import torch
from torch import nn

CARD = {"capacity": 250 << 20}


def run(card):
    card.record()
    keep = []
    pool = nn.AvgPool2d(2)
    with torch.no_grad():
        for size in range(220, 2000, 37):
            image = torch.zeros(1, 3, size, size).to("cuda")
            half = pool(image)
            keep.append(half[:, :, ::8, ::8].clone())
            keep.append(torch.zeros(1_200_000, dtype=torch.uint8, device="cuda"))
            del image, half
    return keep
