"""What models.toml beside this cannot say in values."""
from __future__ import annotations

import torch

from makers import image, numbers, of


def sound(name, config, **more):
    """A model of transformers of sound, as small as its configuration is made here."""
    def make():
        import transformers
        made = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                    conv_dim=(32,) * 7, apply_spec_augment=False, layerdrop=0.0, classifier_proj_size=32)
        return getattr(transformers, name)(getattr(transformers, config)(**{**made, **more})), (numbers(4000),)
    return make


def sew_d():
    import transformers
    made = transformers.SEWDConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                   conv_dim=(32,) * 13, apply_spec_augment=False, classifier_proj_size=32)
    return transformers.SEWDForSequenceClassification(made), (numbers(4000),)


def spilsnet():
    config = dict(input_size=128, dimension=2, encoder_structure=[dict(out=16, k=5, s=2, p=2), dict(out=32, k=3, s=2, p=1)],
                  bottleneck_pool_size=4, latent_dim=32, gru_hidden_size=32, latent_encoder_mlp=[64],
                  internal_state_size=6, internal_input_mlp=[32], internal_output_mlp=[32], dropout_rate=0.1,
                  dtype="float32")
    return of("spilsnet.models.SPILSNetCore", config), (numbers(128), numbers(6))


def dilated():
    def layer(into, out):
        return of("DCLS.construct.modules.Dcls2d", into, out, kernel_count=8, padding=3, dilated_kernel_size=7)
    model = torch.nn.Sequential(layer(3, 16), torch.nn.BatchNorm2d(16), torch.nn.ReLU(inplace=True), layer(16, 32),
                                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
    return model, (image(32),)
