"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, image, numbers, of


def alias_free():
    import torch
    from alias_free_torch import Activation2d

    class Synthesis(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(128, 256 * 16)
            sizes = (256, 256, 128, 64, 32)
            self.layers = torch.nn.ModuleList(torch.nn.Sequential(
                torch.nn.Upsample(scale_factor=2, mode="bilinear"), torch.nn.Conv2d(a, b, 3, padding=1),
                Activation2d(torch.nn.LeakyReLU(0.2))) for a, b in zip(sizes, sizes[1:]))
            self.colours = torch.nn.Conv2d(32, 3, 1)

        def forward(self, z):
            x = self.first(z).view(-1, 256, 4, 4)
            for layer in self.layers:
                x = layer(x)
            return self.colours(x)
    return Synthesis(), (numbers(128),)


def actor():
    import torch
    from tensordict import TensorDict
    from tensordict.nn import NormalParamExtractor, TensorDictModule, TensorDictSequential

    class Actor(torch.nn.Module):
        def __init__(self):
            super().__init__()
            seen = torch.nn.Sequential(
                torch.nn.Conv2d(4, 32, 8, stride=4), torch.nn.ELU(), torch.nn.Conv2d(32, 64, 4, stride=2), torch.nn.ELU(),
                torch.nn.Conv2d(64, 64, 3), torch.nn.ELU(), torch.nn.Flatten(), torch.nn.Linear(3136, 512), torch.nn.ELU())
            act = torch.nn.Sequential(torch.nn.Linear(512, 16), NormalParamExtractor())
            self.model = TensorDictSequential(
                TensorDictModule(seen, in_keys=["pixels"], out_keys=["hidden"]),
                TensorDictModule(act, in_keys=["hidden"], out_keys=["loc", "scale"]),
                TensorDictModule(torch.nn.Linear(512, 1), in_keys=["hidden"], out_keys=["state_value"]))

        def forward(self, pixels):
            found = self.model(TensorDict({"pixels": pixels}, batch_size=[pixels.shape[0]]))
            return found["loc"], found["scale"], found["state_value"]
    return Actor(), (numbers(4, 84, 84),)


def policy():
    import gymnasium
    import torch
    from skrl.utils.model_instantiators.torch import gaussian_model
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [512, 256, 128], "activations": "elu"}]

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = gaussian_model(
                observation_space=gymnasium.spaces.Box(-1, 1, (60,)), action_space=gymnasium.spaces.Box(-1, 1, (8,)), device="cpu",
                network=network, output="ACTIONS")
            self(numbers(60))

        def forward(self, seen):
            mean, more = self.model.compute({"observations": seen}, role="policy")
            return mean, more["log_std"]
    return Policy(), (numbers(60),)


def sentences():
    import torch
    import transformers
    from setfit import SetFitHead

    class Sentences(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = transformers.BertModel(transformers.BertConfig(
                hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536))
            self.head = SetFitHead(384, 8, device="cpu")

        def forward(self, text, mask):
            x = self.body(text, attention_mask=mask).last_hidden_state
            x = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            return self.head({"sentence_embedding": x})["logits"]
    return Sentences(), (ids(128, 30000), ids(128, 2) * 0 + 1)


def metric():
    import torch
    import torchvision
    from pytorch_metric_learning.losses import ArcFaceLoss

    class Metric(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torchvision.models.resnet18(num_classes=128)
            self.loss = ArcFaceLoss(num_classes=200, embedding_size=128)

        def forward(self, x, kind):
            return self.loss(self.net(x), kind)
    return Metric(), (image(112), torch.randint(0, 200, (2,)))


def vae():
    return of("torchvae.models.VAE", 784, [512, 256, 20]), (numbers(784),)


def equalized():
    import torch
    from dasp_pytorch import ParametricEQ

    class Equalized(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.eq = ParametricEQ(44100)
            self.seen = torch.nn.Sequential(
                torch.nn.Conv1d(1, 32, 65, stride=16), torch.nn.PReLU(), torch.nn.Conv1d(32, 64, 33, stride=8), torch.nn.PReLU(),
                torch.nn.Conv1d(64, 128, 17, stride=4), torch.nn.PReLU())
            self.turn = torch.nn.Linear(128, self.eq.num_params)

        def forward(self, sound):
            return self.eq.process_normalized(sound, torch.sigmoid(self.turn(self.seen(sound).mean(2))))
    return Equalized(), (numbers(1, 32768),)


def gated():
    import torch
    from torchgating import TorchGating

    class Gated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(
                torch.nn.Conv1d(1, 64, 15, padding=7), torch.nn.GELU(), torch.nn.Conv1d(64, 64, 15, padding=7), torch.nn.GELU(),
                torch.nn.Conv1d(64, 1, 15, padding=7))
            self.gate = TorchGating(sr=16000, nonstationary=True)

        def forward(self, sound):
            return self.gate(self.net(sound[:, None])[:, 0])
    return Gated(), (numbers(16000),)


def corrupted():
    import torch
    from ts3l.models.scarf import SCARF
    from ts3l.utils.backbone_utils import MLPBackboneConfig
    from ts3l.utils.embedding_utils import IdentityEmbeddingConfig

    class Corrupted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = SCARF(
                IdentityEmbeddingConfig(input_dim=60), MLPBackboneConfig(input_dim=60, hidden_dims=256, output_dim=256, n_hiddens=4),
                pretraining_head_dim=256, output_dim=2)
            self.model.set_first_phase()

        def forward(self, x, other):
            return self.model(x, other)
    return Corrupted(), (numbers(60), numbers(60))


def induced():
    import torch
    from isab_pytorch import ISAB

    class Induced(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rise = torch.nn.Linear(3, 128)
            self.layers = torch.nn.ModuleList(ISAB(dim=128, heads=4, num_latents=32) for _ in range(3))
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(128) for _ in range(3))
            self.kind = torch.nn.Linear(128, 40)

        def forward(self, points):
            x = self.rise(points)
            for layer, norm in zip(self.layers, self.norms):
                x = norm(layer(x)[0])
            return self.kind(x.mean(1))
    return Induced(), (numbers(512, 3),)


def olmo3():
    import transformers
    config = transformers.Olmo3Config(num_hidden_layers=1, pad_token_id=1, use_cache=False)
    return transformers.Olmo3ForSequenceClassification(config), (ids(64, 50000) + 2,)


def timesfm():
    import torch
    import transformers
    config = transformers.TimesFmConfig(num_hidden_layers=8)

    class Forecast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.TimesFmModelForPrediction(config)

        def forward(self, past, freq):
            return self.model(past_values=past, freq=freq).mean_predictions
    return Forecast(), (numbers(512), torch.zeros(2, dtype=torch.int64))


def lfm2_vl():
    import torch
    import transformers
    config = transformers.Lfm2VlConfig()
    text, seen = config.text_config, config.vision_config
    text.num_hidden_layers, seen.num_hidden_layers = 3, 2
    if text.layer_types:
        text.layer_types = text.layer_types[:3]
    words = ids(96, 30000) + 1000
    words[:, 8:72] = config.image_token_id

    class Seen(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.Lfm2VlForConditionalGeneration(config)

        def forward(self, words, patches, sizes, mask):
            return self.model(input_ids=words, pixel_values=patches, spatial_shapes=sizes, pixel_attention_mask=mask, use_cache=False).logits
    sizes = torch.full((2, 2), 16)
    return Seen(), (words, numbers(256, 3 * seen.patch_size ** 2), sizes, torch.ones(2, 256, dtype=torch.int64))


def plbart():
    import transformers
    config = transformers.PLBartConfig(use_cache=False)
    words = ids(64, 49000) + 10
    words[:, -1] = config.eos_token_id
    return transformers.PLBartForSequenceClassification(config), (words,)


def sd3():
    import diffusers
    import torch
    model = diffusers.SD3Transformer2DModel(sample_size=64, num_layers=4)

    class Denoised(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, words, pooled, time):
            return self.model(x, words, pooled, time, return_dict=False)[0]
    return Denoised(), (numbers(16, 64, 64), numbers(77, 4096), numbers(2048), torch.tensor([10.0, 500.0]))


def joy():
    import diffusers
    import torch

    class Denoised(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = diffusers.JoyImageEditTransformer3DModel(num_layers=1)

        def forward(self, x, time, words):
            return self.model(x, time, words, return_dict=False)[0]
    return Denoised(), (numbers(16, 1, 32, 32), torch.tensor([10.0, 500.0]), numbers(64, 4096))

