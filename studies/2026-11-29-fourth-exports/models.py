"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import Call, ids, numbers, of


def real_nvp():
    flow = of("nflows.flows.realnvp.SimpleRealNVP", 16, 128, 4, 2, batch_norm_between_layers=True)
    return Call(flow, "log_prob"), (numbers(16),)


def whisper_tiny():
    dims = of("whisper.model.ModelDimensions", 80, 1500, 384, 6, 4, 51865, 448, 384, 6, 4)
    return of("whisper.model.Whisper", dims), (numbers(80, 3000), ids(32, 51865))


def spherical():
    import torch

    class Message(torch.nn.Module):
        def __init__(self):
            super().__init__()
            inner = "64x0e + 32x1o + 16x2e"
            self.product = of("e3nn.o3.FullyConnectedTensorProduct", inner, "1x0e + 1x1o + 1x2e", inner)
            self.last = of("e3nn.o3.Linear", inner, "8x0e")

        def forward(self, features, directions):
            return self.last(self.product(features, directions))
    return Message(), (numbers(64, 240), numbers(64, 9))


def smiles():
    model = of("deepchem.models.torch_models.text_cnn.TextCNN", 2, {chr(40 + i): i for i in range(64)}, 128)
    return model, (ids(128, 64),)


def nhits():
    import torch
    from neuralforecast.models import NHITS

    class Forecast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.nhits = NHITS(h=24, input_size=120)

        def forward(self, past):
            none = dict.fromkeys(("futr_exog", "hist_exog", "stat_exog"))
            return self.nhits(dict(insample_y=past, insample_mask=torch.ones_like(past), **none))
    return Forecast(), (numbers(120, 1),)


def tide():
    import torch
    from darts.models.forecasting.tide_model import _TideModule
    from darts.utils.data.torch_datasets.utils import PLModuleInput

    class Forecast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tide = _TideModule(
                input_dim=4, output_dim=4, future_cov_dim=0, static_cov_dim=0, nr_params=1, num_encoder_layers=2,
                num_decoder_layers=2, decoder_output_dim=16, hidden_size=256, temporal_decoder_hidden=64,
                temporal_width_past=4, temporal_width_future=4, use_layer_norm=True, dropout=0.1,
                input_chunk_length=96, output_chunk_length=24)

        def forward(self, past):
            return self.tide(PLModuleInput(past_target=past)).prediction
    return Forecast(), (numbers(96, 4),)


def bolt():
    import transformers
    config = transformers.T5Config(
        d_model=384, d_kv=64, d_ff=1024, num_layers=4, num_decoder_layers=4, num_heads=6, vocab_size=2,
        feed_forward_proj="gated-gelu", is_gated_act=True, pad_token_id=0, reg_token_id=1, decoder_start_token_id=0)
    config.chronos_config = dict(context_length=512, prediction_length=64, input_patch_size=16, input_patch_stride=16,
                                 quantiles=[0.1, 0.5, 0.9], use_reg_token=True)
    return of("chronos.chronos_bolt.ChronosBoltModelForForecasting", config), (numbers(512),)


def tabicl():
    return of("tabicl._model.tabicl.TabICL"), (numbers(64, 10), ids(40, 3).float())


def saint():
    import torch
    from deeptab.architectures.saint import SAINT
    several = {f"n{i}": {"dimension": 1, "categories": None, "preprocessing": "standard"} for i in range(8)}
    kinds = {f"c{i}": {"dimension": 1, "categories": 10, "preprocessing": "int"} for i in range(4)}

    class Rows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.saint = SAINT((several, kinds, {}), 2)

        def forward(self, x, kind):
            return self.saint(list(x.split(1, 1)), list(kind.split(1, 1)), [])
    return Rows(), (numbers(8), ids(4, 10))


def collaborative():
    model = of("cornac.models.vaecf.vaecf.VAE", 64, [3706, 256], "tanh", "mult")
    return model, (numbers(3706).relu(),)


def roberta():
    import torch
    from curated_transformers.layers.attention import AttentionMask
    from curated_transformers.models.roberta import RoBERTaConfig, RoBERTaEncoder

    class Read(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = RoBERTaEncoder(RoBERTaConfig(
                embedding_width=256, hidden_width=256, intermediate_width=1024, n_attention_heads=4, n_hidden_layers=4,
                n_pieces=5000, attention_probs_dropout_prob=0.1, hidden_dropout_prob=0.1))
            self.answer = torch.nn.Linear(256, 3)

        def forward(self, pieces):
            mask = AttentionMask(pieces != 1)
            return self.answer(self.encoder(pieces, mask).all_outputs[-1][:, 0])
    return Read(), (ids(64, 5000),)


def reader():
    from doctr.models.classification import vip_tiny
    return vip_tiny(pretrained=False), (numbers(3, 32, 128),)


def llama3():
    import torch
    config = dict(vocab_size=5000, context_length=256, emb_dim=256, n_heads=8, n_layers=4, hidden_dim=1024,
                  n_kv_groups=2, rope_base=500000.0, dtype=torch.float32, rope_freq=None)
    return of("llms_from_scratch.llama3.Llama3Model", config), (ids(128, 5000),)


def fasttext():
    model = of("torchFastText.model.pytorch_model.FastTextModel", 80, 30, num_rows=20000, sparse=False,
               categorical_vocabulary_sizes=[10, 20], categorical_embedding_dims=[8, 8])
    return model, (ids(48, 20000), ids(2, 10))


def clips():
    from classy_vision.models import build_model
    bottleneck, shortcut = "postactivated_bottleneck_transformation", "postactivated_shortcut"
    return build_model(dict(
        name="resnext3d", frames_per_clip=8, input_planes=3, clip_crop_size=112, skip_transformation_type=shortcut,
        residual_transformation_type=bottleneck, num_blocks=[2, 2, 2, 2], stem_name="resnext3d_stem", stem_planes=32,
        stem_temporal_kernel=3, stage_planes=64, num_groups=1, width_per_group=32, num_classes=10, in_plane=256)), (
            numbers(3, 8, 112, 112),)


def byte_clicks():
    model = of("torch_ctr.models.deepfm.DeepFM", 13, [1000] * 26, 16, [256, 128], 0.2)
    return model, (numbers(13), ids(26, 1000))
