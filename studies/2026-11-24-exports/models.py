"""A fourth list for a blind study, of exports: chosen before any of them had been exported, recorded or read.

Drawn up on 2026-11-24 as the third list, with seed 20261125. A name is free if no word of this project's files, history
and measured sets begins with it.

timm: of the 32 modules that are free together with all their models' names, shuffled, the first twelve, each by its
model with the fewest parameters (gemma4_vit's has 167 million: passed over). torchvision: models of families that no
list names, under 40 million parameters, without detection and quantized ones: three are left. transformers: the
classes for causal and masked language modelling, image and audio classification and segmentation whose kind is free,
shuffled after those with the same generator and walked in that order, without mixtures of experts, those that want
several kinds of input or a backbone of another library (DETR), and Blenderbot, a relative of one drawn before it;
their configurations are small. Packages: what was left of testdata/blind/drawn-order.txt, walked in that order as far
as models are built from plain numbers (signatures and descriptions were read). Entries are as in 2026-11-23-records.

    pip install torch torchvision timm transformers einops einx ema-pytorch scikit-learn scipy torch-einops-utils \\
        more-itertools humanfriendly xarray wandb librosa accelerate pandas beartype
    pip install --no-deps voxgan normflows bit-diffusion vaes-ptorch zuko sevae animotion-ml cenn-forecasting \\
        xdownscale alphagenome-pytorch pope-pytorch rau torch-harmonics

Passed over: torchgen (its name hides a package of torch's own), ddpm, kaumena and torchrecsys (do not install),
vae-anomaly-detection, naturalspeech2-pytorch, deeplog, torchsense, metatreelib, tiny-gptv and pointtorch (want further
packages or older ones), pyautoencoder (its networks are the user's), eeg-pll, ggbound and genmimic-pytorch (hold no
model yet), pyzjr (holds blocks alone), XBNet (asks on the terminal), prediction-flow-x (inputs are dictionaries),
funrec (the code of deepctr-torch, which blind-2 has).
"""
from __future__ import annotations

import torch

from makers import BATCH, STEPS, ids, image, numbers, of, picture, text, timm_model, video


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


MODELS = {
    "timm": {name: timm_model(name) for name in (
        "sequencer2d_s", "focalnet_tiny_srf", "pit_ti_224", "selecsls42", "rdnet_tiny", "tnt_s_legacy_patch16_224",
        "rexnet_100", "cspnext_tiny", "mambaout_femto", "volo_d1_224", "iformer_t", "dla46x_c")},
    "torchvision": {"swin3d": video("swin3d_t"), "mvit": video("mvit_v2_s"), "mc3": video("mc3_18", 112)},
    "transformers": {
        "cohere2": text("Cohere2ForCausalLM", "Cohere2Config", head_dim=16),
        "olmo": text("OlmoForCausalLM", "OlmoConfig"),
        "trocr": text("TrOCRForCausalLM", "TrOCRConfig"),
        "neomme": text("NeoMMEForMaskedLM", "NeoMMEConfig", head_dim=16, embedding_rank=16, embedding_dim=32),
        "blenderbot_small": text("BlenderbotSmallForCausalLM", "BlenderbotSmallConfig"),
        "biogpt": text("BioGptForCausalLM", "BioGptConfig"),
        "mvp": text("MvpForCausalLM", "MvpConfig"),
        "focalnet": picture("FocalNetForImageClassification", "FocalNetConfig", embed_dim=24, depths=[1, 1, 2, 1],
                            hidden_sizes=[48, 96, 192, 192]),
        "data2vec_vision": picture("Data2VecVisionForImageClassification", "Data2VecVisionConfig", hidden_size=64,
                                   num_hidden_layers=4, num_attention_heads=4, intermediate_size=128,
                                   out_indices=[0, 1, 2, 3]),
        "ernie4_5": text("Ernie4_5ForCausalLM", "Ernie4_5Config", head_dim=16),
        "xlm_roberta_xl": text("XLMRobertaXLForMaskedLM", "XLMRobertaXLConfig"),
        "zamba": text("ZambaForCausalLM", "ZambaConfig", num_hidden_layers=6, attn_layer_period=3, attn_layer_offset=2,
                      attention_hidden_size=128, attention_head_dim=32, num_key_value_heads=4, mamba_dt_rank=4,
                      use_mamba_kernels=False),
        "bigbird_pegasus": text("BigBirdPegasusForCausalLM", "BigBirdPegasusConfig"),
        "wav2vec2_conformer": wav2vec2_conformer,
    },
    "voxgan": {
        "resnet_generator3d": lambda: (of("voxgan.networks.resnet.SimpleGenerator3d", nz=32, ngf=8),
                                       (numbers(32, 1, 1, 1),)),
        "resnet_discriminator3d": lambda: (of("voxgan.networks.resnet.SimpleDiscriminator3d", ndf=8),
                                           (numbers(1, 64, 64, 64),)),
        "dcgan_generator3d": lambda: (of("voxgan.networks.dcgan.Generator3d", nz=32, ngf=8), (numbers(32, 1, 1, 1),)),
    },
    "normflows": {
        "made": lambda: (of("normflows.nets.MADE", 16, 64, output_multiplier=2, dropout_probability=0.1),
                         (numbers(16),)),
        "flow": flow,
    },
    "bit_diffusion": {"unet": lambda: (of("bit_diffusion.bit_diffusion.Unet", dim=16, dim_mults=(1, 2, 4)),
                                       (image(32, 24), STEPS))},
    "vaes_ptorch": {"vae": mlp_vae},
    "zuko": {"masked_mlp": lambda: (of("zuko.nn.MaskedMLP", torch.ones(16, 16).tril() > 0, [64, 64], residual=True),
                                    (numbers(16),))},
    "sevae": {"sevae": se_vae},
    "animotion": {"audio_cnn": lambda: (of("pet_emotion.model.PetAudioCNN"), (image(64, 1),))},
    "cenn_forecasting": {"ams_cenn": lambda: (of("cenn_forecasting.ams_cenn", 7, 128, 24), (numbers(128, 7),))},
    "xdownscale": {
        "fsrcnn": lambda: (of("xdownscale.model.FSRCNN"), (image(32, 1),)),
        "falsr_a": lambda: (of("xdownscale.model.FALSR_A"), (image(32, 1),)),
        "san": lambda: (of("xdownscale.model.SAN", 1, 1, 4, 4), (image(32, 1),)),
        "dlgsanet": lambda: (of("xdownscale.model.DLGSANet", 1, 1), (image(32, 1),)),
    },
    "alphagenome_pytorch": {"alphagenome": alphagenome},
    "rau": {
        "encoder": lambda: (of("rau.models.transformer.encoder.get_transformer_encoder", 200, 2, 64, 4, 128, 0.1, False,
                               None, None), (ids(32),)),
        "causal": lambda: (of("rau.models.transformer.unidirectional_encoder.get_unidirectional_transformer_encoder",
                              200, 200, True, 2, 64, 4, 128, 0.1, False), (ids(32),), {"include_first": False}),
    },
    "torch_harmonics": {"sfno": lambda: (
        of("torch_harmonics.examples.models.sfno.SphericalFourierNeuralOperator", img_size=(32, 64), scale_factor=1,
           embed_dim=32, num_layers=2), (numbers(3, 32, 64),))},
}
