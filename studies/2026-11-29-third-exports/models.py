"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import BATCH, STEPS, ids, image, numbers, of


def crf():
    import torch
    return of("allencrf.conditional_random_field.ConditionalRandomField", 5), (
        numbers(12, 5), ids(12, 5), torch.ones(BATCH, 12, dtype=torch.bool))


def twin():
    from diresa_torch.arch.models import Diresa
    return Diresa.from_hyper_param(input_shape=(3, 32, 32), dense_units=(64, 8), stack=(2, 1), stack_filters=(16, 8)), (
        image(32), image(32))


def voxels():
    return of("fusion_threed.model.Diffusion3DGenerator", 32, 8, 100, 16), (image(32), STEPS.long())


def mambabyte():
    from mambabyte.model import Mamba, MambaConfig
    return Mamba(MambaConfig(dim=64, depth=2, pscan=False)), (numbers(16, 64),)


def heptapod():
    import torch
    return of("heptapod.model.NonLinearTransformer", 200, 64, 2, 8), (torch.randint(0, 200, (BATCH, 8, 8)),)


def physis():
    return of("physis_lm.torch_backend.blocks.DeepBottleneckTransformer", 64, 4, 128, 2, 16, 10000.0, 0.02), (
        numbers(16, 64),)


def denoiser():
    model = of("purediffusion.model.LinearDiffusion", 10, 10, fp_dim=32, feature_dim=64, guidance=True)
    return model, (numbers(10), STEPS.long(), numbers(32), numbers(64))


def pyramid():
    import torch
    pool = of("pyramidpooling.SpatialPyramidPooling", [1, 2, 4], channels=16)
    body = [torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), pool, torch.nn.Flatten()]
    return torch.nn.Sequential(*body, torch.nn.Linear(16 * 21, 10)), (image(32),)


def spiking():
    import torch
    leaky = "snntorch.Leaky"

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(16, 64), torch.nn.Linear(64, 10)
            self.spikes, self.out = of(leaky, beta=0.9, learn_beta=True), of(leaky, beta=0.9)

        def forward(self, x):
            one, two, spikes = self.spikes.reset_mem(), self.out.reset_mem(), []
            for step in range(4):
                spike, one = self.spikes(self.first(x[:, step]), one)
                spike, two = self.out(self.last(spike), two)
                spikes.append(two)
            return torch.stack(spikes, 1)
    return Net(), (numbers(4, 16),)


def surgeon():
    from srt_torch.main import ImageEncoder, ModelConfig
    config = ModelConfig(image_size=(64, 64), hidden_dim=64, num_heads=4, feedforward_dim=128)
    return ImageEncoder(config), (numbers(4, 3, 64, 64),)


def actor_critic():
    import gymnasium
    box, four = gymnasium.spaces.Box(-1, 1, (8,)), gymnasium.spaces.Discrete(4)
    return of("stable_baselines3.common.policies.ActorCriticPolicy", box, four, lambda _: 1e-3), (numbers(8),)


def sykra():
    from sykra.configuration_sykra import SykraConfig
    from sykra.modeling_sykra import SykraForCausalLM
    config = SykraConfig(vocab_size=200, hidden_size=64, intermediate_size=128, num_hidden_layers=4, use_cache=False,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=16, chunk_size=16,
                         max_position_embeddings=64)
    return SykraForCausalLM(config), (ids(32),)


def streamed():
    import torch
    body = [torch.nn.Conv1d(1, 16, 5), torch.nn.ReLU(), torch.nn.Conv1d(16, 16, 3)]
    return torch.nn.Sequential(body[0], body[1], of("torchstreamer.Residual1d", torch.nn.Sequential(*body[2:]))), (
        numbers(1, 128),)


def ode():
    import torch
    from torchdyn.core import NeuralODE
    field = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8))
    return NeuralODE(field, solver="rk4", sensitivity="autograd", return_t_eval=False), (numbers(8), torch.linspace(0, 1, 5))


def kge():
    return of("torchkge.models.TransEModel", 32, 50, 4, dissimilarity_type="L2"), tuple(
        ids(1, most)[:, 0] for most in (50, 50, 4, 50, 50))


def vbpr():
    import torch
    return of("vbpr.VBPR", 50, 80, torch.randn(80, 64), 16, 8), tuple(ids(1, 50)[:, 0] for _ in range(3))
