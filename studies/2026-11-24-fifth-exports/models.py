"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, image, numbers, of


def kydon():
    config = dict(vocab_size=200, emb_dim=64, context_length=64, drop_rate=0.1, n_layers=2, n_heads=4, qkv_bias=False)
    return of("kydon_gpt.GPTModel.GPTModel", config), (ids(32),)


def lmt(name):
    def make():
        config = of("lmt.models.config.ModelConfig", context_length=64, vocab_size=200, num_layers=2, num_heads=4,
                    embed_dim=64, dropout=0.1)
        return of(f"lmt.models.{name}", config), (ids(32),)
    return make


def medimm(name, config, **options):
    return lambda: (of("medimm.models." + name, of("medimm.models." + config, **options)), (numbers(1, 32, 32, 32),))


def multigrid():
    from mgnet.model import mgnet
    return mgnet("jacobi", n_iter=[1, 1, 1], n_chan_u=16, n_chan_f=16, in_channels=3, n_classes=10), (image(32),)


def tiramisu():
    structure = ([2, 2, 2], 2, [2, 2, 2])
    return of("models.tiramisu.Tiramisu", 3, 5, init_conv_filters=24, structure=structure), (image(64),)
