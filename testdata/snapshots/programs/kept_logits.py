# growing-tensors
import torch
from torch import nn

CARD = {"capacity": 256 << 20}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 128)
        self.mix = nn.GRU(128, 128, batch_first=True)
        self.head = nn.Linear(128, 2000)

    def forward(self, tokens):
        return self.head(self.mix(self.embed(tokens))[0])


@torch.inference_mode()
def predict(tagger, batches):
    tagger.eval()
    out = []
    for tokens in batches:
        tokens = tokens.to("cuda")
        out.append(tagger(tokens))  # planted
    return torch.cat(out)


def run(card):
    card.record()
    tagger = Tagger().to("cuda")
    predict(tagger, [torch.randint(5000, (16, 32)) for _ in range(120)])
