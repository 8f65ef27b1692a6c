"""What models.toml beside this cannot say in values."""
from __future__ import annotations

import torch

from makers import BATCH, ids, numbers, of


def wav2vec2_conformer():
    import transformers
    made = transformers.Wav2Vec2ConformerConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                                intermediate_size=128, conv_dim=(32,) * 7, apply_spec_augment=False,
                                                classifier_proj_size=32)
    return transformers.Wav2Vec2ConformerForSequenceClassification(made), (numbers(4000),)


def se_vae():
    from sevae.models.sevae import SEVAE, SEVAEConfig
    return SEVAE(SEVAEConfig(n_constructs=3, items_per_construct=4)), (numbers(12),)


def mlp_vae():
    return of("vaes_ptorch.vae.VAE", of("vaes_ptorch.vae.GaussianMLP", 40, [64], 8),
              of("vaes_ptorch.vae.GaussianMLP", 8, [64], 40)), (numbers(40),)


def alphagenome():
    model = of("alphagenome_pytorch.AlphaGenome", dims=(32, 40, 48, 56, 64, 72, 80),
               transformer_kwargs=dict(depth=2, heads=4, dim_head_qk=16, dim_head_v=24, dim_pairwise=16))
    return model, (ids(2048, 4), torch.zeros(BATCH, dtype=torch.int64))


def flow():
    """Couplings with normalizations between them, as normflows' first example has them."""
    import normflows
    flows = []
    for _ in range(4):
        flows.append(normflows.flows.AffineCouplingBlock(normflows.nets.MLP([4, 32, 32, 8], init_zeros=True)))
        flows.append(normflows.flows.Permute(8, mode="swap"))
    return normflows.NormalizingFlow(normflows.distributions.DiagGaussian(8), flows), (numbers(8),)


def zuko_masked_mlp():
    return (of('zuko.nn.MaskedMLP', torch.ones(16, 16).tril() > 0, [64, 64], residual=True), (numbers(16),))
