"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, of


def deepseek():
    config = of("nano_deepseek_v4.config.DeepSeekV4Config", vocab_size=200, num_hidden_layers=2)
    return of("nano_deepseek_v4.modeling.DeepSeekV4ForCausalLM", config), (ids(32),)


def mamba():
    config = of("minimamba.config.MambaLMConfig", d_model=32, n_layer=2, d_state=8, vocab_size=200)
    return of("minimamba.models.MambaForCausalLM", config), (ids(8),)

