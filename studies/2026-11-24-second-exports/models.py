"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import image, numbers


def speech(name, config, **more):
    """A model of transformers of sound, as small as its configuration can be."""
    def make():
        import transformers
        made = getattr(transformers, config)(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                             intermediate_size=128, conv_dim=(32,) * 7, apply_spec_augment=False,
                                             classifier_proj_size=32, num_conv_pos_embedding_groups=4, **more)
        return getattr(transformers, name)(made), (numbers(4000),)
    return make


def sew_d():
    import transformers
    made = transformers.SEWDConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                   conv_dim=(32,) * 3, conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3),
                                   apply_spec_augment=False, classifier_proj_size=32,
                                   num_conv_pos_embedding_groups=4)
    return transformers.SEWDForSequenceClassification(made), (numbers(2000),)


def siglip():
    import transformers
    seen = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=64)
    return transformers.SiglipForImageClassification(transformers.SiglipConfig(vision_config=seen)), (image(64),)


def encoder():
    from stackformer import BlockConfig, TransformerEncoder
    return TransformerEncoder(BlockConfig(embed_dim=64, num_heads=4, dropout=0.1), 2), (numbers(32, 64),)
