# fragmentation
import torch

CARD = {"capacity": 512 << 20, "protocol": 2}


def run(card):
    card.record()
    windows = [torch.zeros(5 << 20, dtype=torch.uint8, device="cuda") for _ in range(100)]
    kept = windows[::4]
    del windows
    table = torch.zeros(40 << 20, dtype=torch.uint8, device="cuda")
    table = torch.cat([table, *kept])
    return table, kept
