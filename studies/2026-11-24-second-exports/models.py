"""A fifth list for a blind study, of exports: chosen before any of them had been exported, recorded or read.

Drawn up on 2026-11-24 with seed 20261126. A name is free if no word of this project's files, history and measured sets
begins with it.

timm: of the 32 modules that are free together with all their models' names, shuffled, the first ten that have a model
under 15 million parameters, each by its smallest. torchvision: the first two classifiers under 10 million parameters of
the shuffled free names, each of a family of its own. transformers: as for the fourth list, shuffled after timm's with
the same generator and walked in that order, without mixtures of experts, several kinds of input, state space models
(over 240 s of CPU in the fourth list) and such as fold a long list of channels (Sapiens 2); their configurations are
small. Packages: those of the Python package index whose summary names PyTorch and a word of a network and none of a
tool, newer than 2020-06, in no file of this project, shuffled with the same seed and walked in that order by summary
(constructors' signatures were read), as far as they are pure Python under MIT, BSD or Apache-2.0 and build from plain
numbers. Entries are as in 2026-11-23-records.

    pip install torch torchvision timm transformers
    pip install --no-deps einops einx torch-einops-utils rotary-embedding-torch axial-attention agent-attention-pytorch \\
        molecule-attention-transformer infini-transformer-pytorch stackformer x-mlps-pytorch stam-pytorch \\
        graph-transformer-pytorch bottleneck-transformer-pytorch cerebral-lstm pytorch-pretrained-vit remixer-pytorch \\
        light-cnns unet-pytorch

Passed over: akita-torch (GPL), slot-attention-pytorch and nd-vq-vae (no licence named), metnet, borzoi-pytorch,
chrombpnet-pytorch and rec-pangu (want further packages), spatial-grouping-attention and torch-dimensions (inputs not
understood), kindle (its networks are the user's).
"""
from __future__ import annotations

from makers import ids, image, numbers, of, picture, text, timm_model, vision


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


MODELS = {
    "timm": {name: timm_model(name, size) for name, size in (
        ("eca_botnext26ts_256", 256), ("maxvit_pico_rw_256", 256), ("mobilevit_xxs", 256), ("efficientvit_b0", 224),
        ("starnet_s050", 224), ("inception_next_atto", 224), ("fasternet_t0", 224), ("resnetv2_18", 224),
        ("csatv2", 512), ("swiftformer_xs", 224))},
    "torchvision": {"regnet_x": vision("regnet_x_1_6gf"), "efficientnet": vision("efficientnet_b1")},
    "transformers": {
        "modernbert_decoder": text("ModernBertDecoderForCausalLM", "ModernBertDecoderConfig"),
        "roberta_prelayernorm": text("RobertaPreLayerNormForMaskedLM", "RobertaPreLayerNormConfig"),
        "esm": text("EsmForMaskedLM", "EsmConfig", vocab_size=200, mask_token_id=3),
        "prophetnet": text("ProphetNetForCausalLM", "ProphetNetConfig", num_decoder_layers=2,
                           num_decoder_attention_heads=4),
        "sew_d": sew_d,
        "gemma3_text": text("Gemma3ForCausalLM", "Gemma3TextConfig", head_dim=16),
        "flint": text("FlintForCausalLM", "FlintConfig"),
        "unispeech": speech("UniSpeechForSequenceClassification", "UniSpeechConfig"),
        "kolibri1": text("Kolibri1ForCausalLM", "Kolibri1Config"),
        "cohere_compass": text("CohereCompassForCausalLM", "CohereCompassTextConfig"),
        "arcee": text("ArceeForCausalLM", "ArceeConfig"),
        "nomic_bert": text("NomicBertForMaskedLM", "NomicBertConfig"),
        "siglip": siglip,
        "eurobert": text("EuroBertForMaskedLM", "EuroBertConfig"),
        "glm4": text("Glm4ForCausalLM", "Glm4Config", head_dim=16),
        "donut_swin": picture("DonutSwinForImageClassification", "DonutSwinConfig", embed_dim=24, depths=[1, 1, 2, 1],
                              num_heads=[2, 2, 4, 4], window_size=4),
    },
    "agent_attention": {"transformer": lambda: (
        of("agent_attention_pytorch.agent_transformer.AgentTransformer", 64, num_agent_tokens=8, depth=2, heads=4,
           dim_head=16), (numbers(32, 64),))},
    "molecule_attention": {"mat": lambda: (
        of("molecule_attention_transformer.MAT", dim_in=9, model_dim=64, dim_out=1, depth=2, heads=4),
        (numbers(16, 9),))},
    "infini_transformer": {"lm": lambda: (
        of("infini_transformer_pytorch.InfiniTransformer", num_tokens=200, dim=64, depth=2, dim_head=16, heads=4),
        (ids(32),))},
    "stackformer": {
        "encoder": encoder,
        "gpt1": lambda: (of("stackformer.models.GPT1", 200, 2, 64, 4, 32), (ids(32),)),
        "vit": lambda: (of("stackformer.vision.ViT", img_size=32, patch_size=8, num_layers=2, embed_dim=64,
                           num_classes=10, num_heads=4, hidden_dim=128), (image(32),)),
    },
    "x_mlps": {
        "feedforwards": lambda: (of("x_mlps_pytorch.ff.Feedforwards", 64, 4, dim_in=16, dim_out=8), (numbers(16),)),
        "residual": lambda: (of("x_mlps_pytorch.residual_normed_mlp.ResidualNormedMLP", 64, 8, dim_in=16, dim_out=8),
                             (numbers(16),)),
    },
    "stam": {"stam": lambda: (
        of("stam_pytorch.stam.STAM", dim=64, image_size=32, patch_size=8, num_frames=4, num_classes=10, space_depth=2,
           space_heads=4, space_mlp_dim=128, time_depth=2, time_heads=4, time_mlp_dim=128, dropout=0.1),
        (numbers(4, 3, 32, 32),))},
    "graph_transformer": {"graph": lambda: (
        of("graph_transformer_pytorch.GraphTransformer", 64, 2, dim_head=16, edge_dim=32, heads=4,
           with_feedforwards=True), (numbers(16, 64), numbers(16, 16, 32)))},
    "bottleneck_transformer": {"stack": lambda: (
        of("bottleneck_transformer_pytorch.BottleStack", dim=32, fmap_size=16, dim_out=64, heads=4, dim_head=16,
           rel_pos_emb=True), (numbers(32, 16, 16),))},
    "cerebral_lstm": {"lstm": lambda: (of("cerebral_lstm.CerebralLSTM", 16, 32, 2, dropout=0.1), (numbers(12, 16),))},
    "pretrained_vit": {"vit": lambda: (
        of("pytorch_pretrained_vit.ViT", patches=8, dim=64, ff_dim=128, num_heads=4, num_layers=2, image_size=32,
           num_classes=10), (image(32),))},
    "remixer": {"block": lambda: (of("remixer_pytorch.RemixerBlock", 64, 32, causal=True), (numbers(32, 64),))},
    "light_cnns": {
        "espnetv2": lambda: (of("light_cnns.ESPNet.espnetv2.EESPNet", 10), (image(128),)),
        "peleenet": lambda: (of("light_cnns.mobile_real_time_network.peleenet.PeleeNet", num_classes=10),
                             (image(128),)),
        "parnet": lambda: (of("light_cnns.mobile_real_time_network.parnet.ParNet", 3, 10,
                              block_channels=[16, 32, 64, 128, 256]), (image(64),)),
    },
    "unet_pytorch": {"unet": lambda: (of("unet_pytorch.model.UNet"), (image(64, 1),))},
}
