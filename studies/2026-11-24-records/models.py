"""A blind list for records: 30 models, chosen before any of them had been recorded, measured or read.

Drawn with seed 20261126. A name is free if no word of this project's files, history and measured sets begins with it.

timm: of the 35 modules that are free together with all their models' names, shuffled, the first ten, each by its model
with the fewest parameters (deepseek_vit's has 412 million: passed over). torchvision: of the free models under 40
million parameters, without detection, flow and quantized ones, shuffled, the first two. transformers: the classes for
causal and masked language modelling, image and audio classification, segmentation, depth, sequence to sequence and
time series whose kind is free, shuffled and walked in that order, without mixtures of experts and those that want
several kinds of input; their configurations are small, and layers are not dropped by random numbers (recording.md:
what is refused). Packages: the names of the index whose summary has the word PyTorch and that are free, shuffled and
walked in that order as far as models are built from plain numbers (signatures were read). Entries are as in
2026-11-23-records.

    pip install torch torchvision timm transformers einops
    pip install --no-deps progen-torch titans-memory spilsnet-torch kronecker-attention-pytorch retsim-pytorch \\
        floydnet dcls tranception-pytorch-dohlee

Passed over: memoria-pytorch (a memory beside a model), marlin-pytorch, phenaki-pytorch and soundstorm-pytorch (want
further packages), wavemix (does not import with the numpy of today: found in the first run, when the next in the order
took its place).
"""
from __future__ import annotations

import torch

from makers import ids, image, numbers, of, picture, text, timm_model, vision


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


MODELS = {
    "timm": {name: timm_model(name, size) for name, size in (
        ("halonet_h1", 256), ("samvit_base_patch16_224", 224), ("inception_resnet_v2", 299), ("efficientvit_b0", 224),
        ("mobilenetv5_base", 256), ("test_vit_relpos", 160), ("qwen3_vit_88m", 768), ("inception_next_atto", 224),
        ("test_byobnet", 160), ("mobilevit_xxs", 256))},
    "torchvision": {name: vision(name) for name in ("regnet_y_3_2gf", "shufflenet_v2_x2_0")},
    "transformers": {
        "glpn": picture("GLPNForDepthEstimation", "GLPNConfig", hidden_sizes=[16, 32, 40, 64], decoder_hidden_size=32),
        "swiftformer": picture("SwiftFormerForImageClassification", "SwiftFormerConfig", depths=[1, 1, 2, 1]),
        "yoso": text("YosoForMaskedLM", "YosoConfig"),
        "falcon_h1": text("FalconH1ForCausalLM", "FalconH1Config", mamba_d_ssm=64, mamba_n_heads=8, mamba_d_head=8,
                          mamba_d_state=16, mamba_chunk_size=16, head_dim=16),
        "nomic_bert": text("NomicBertForMaskedLM", "NomicBertConfig", head_dim=16),
        "wavlm": sound("WavLMForSequenceClassification", "WavLMConfig"),
        "mobilevitv2": picture("MobileViTV2ForSemanticSegmentation", "MobileViTV2Config", width_multiplier=0.5),
        "unispeech": sound("UniSpeechForSequenceClassification", "UniSpeechConfig"),
        "sew_d": sew_d,
        "cpmant": text("CpmAntForCausalLM", "CpmAntConfig", dim_head=16, dim_ff=128, prompt_length=4, prompt_types=4,
                       segment_types=4, position_bias_num_buckets=32, position_bias_max_distance=64),
    },
    "progen": {"progen": lambda: (of("progen.model.ProGen", 200, 64, 64, 2, window_size=16, dim_head=64), (ids(64),))},
    "titans": {"mac": lambda: (of("titans.models.mac.TitansMAC", 200, 64, 2, d_hidden=128, n_persistent=4, chunk_size=16,
                                  max_seq_len=64), (ids(64),))},
    "spilsnet": {"core": spilsnet},
    "kronecker_attention_pytorch": {"attention": lambda: (
        of("kronecker_attention_pytorch.KroneckerSelfAttention", 64, 4), (numbers(64, 24, 24),))},
    "retsim_pytorch": {"retsim": lambda: (of("retsim_pytorch.retsim.RETSim"), (numbers(512, 24),))},
    "floydnet": {"block": lambda: (of("floydnet.transformer.PivotalAttentionBlock", 32, 4, dropout=0.1),
                                   (numbers(12, 12, 32),))},
    "DCLS": {"dcls2d": dilated},
    "tranception_pytorch": {"tranception": lambda: (
        of("tranception_pytorch.Tranception", embed_dim=64, num_heads=8, num_layers=2, max_length=48), (ids(48, 21),))},
}
