"""Liger-Kernel's benchmark of modules, the providers "huggingface" and "torch": rebuilt as modules, and its own
functions.

One x serves all iterations, so that its gradient is there as those of parameters are."""
import pathlib
import sys
import types

import torch
import transformers
from torch import nn
from torch.nn import functional as F
from transformers.models.llama.modeling_llama import LlamaMLP

HALF = torch.bfloat16
MODULES = {}


class Own(nn.Module):
    """`module` on an x of its own; `tick` has no bytes. `beside`: what other providers or iterations left there."""

    def __init__(self, module, shape, dtype=torch.float32, beside=()):
        super().__init__()
        self.module, self.x = module, nn.Parameter(torch.zeros(shape, dtype=dtype))
        for i, tensor in enumerate(beside):
            self.register_buffer(f"beside{i}", tensor)

    def forward(self, tick, *targets):
        return self.module(self.x, *targets)


def own(name, module, shape, dtype=torch.float32, targets=(), beside=()):
    MODULES[name] = lambda: (Own(module(), shape, dtype, [t() for t in beside]),
                             (torch.zeros(1, 0), *(t() for t in targets)), {})


def mlp(width, hidden, act):
    config = transformers.LlamaConfig(hidden_size=width, intermediate_size=hidden, hidden_act=act)
    return LlamaMLP(config).to(HALF)


def empty(*shape, dtype=torch.float32):
    return lambda: torch.empty(shape, dtype=dtype)


ACTS = {"silu": "silu", "gelu": "gelu_pytorch_tanh"}
WORKSPACE = empty(8519680, dtype=torch.uint8)
for width, hidden, short, rows in ((4096, 11008, "silu", (4096, 8192, 16384, 32768)),
                                   (4096, 11008, "gelu", (8192, 16384, 32768, 65536)),
                                   (2048, 4096, "silu", (2048, 8192, 16384, 32768)),
                                   (2048, 4096, "gelu", (2048, 4096, 8192, 16384))):
    for n in rows:
        make = lambda w=width, h=hidden, a=ACTS[short]: mlp(w, h, a)  # noqa: E731
        own(f"mlp_{short}_{width}_{n}", make, (n, width), HALF)
        own(f"mlp_{short}_{width}_{n}_after", make, (n, width), HALF, beside=[WORKSPACE])


class Loss(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return {"loss": self.function(x, y)}


def kl_div(x, y):
    return F.kl_div(x.log_softmax(-1), y, reduction="batchmean")


for size in (4096, 8192, 16384, 32768, 65536, 131072):
    own(f"cross_entropy_{size}", lambda: Loss(F.cross_entropy), (16384, size),
        targets=[empty(16384, dtype=torch.int64)])
own("kl_div_16384", lambda: Loss(kl_div), (16384, 16384), targets=[empty(16384, 16384)])
for size in (1024, 2048, 4096, 8192, 16384):
    own(f"layer_norm_{size}", lambda s=size: nn.LayerNorm(s), (4096, size))
    own(f"layer_norm_{size}_both", lambda s=size: nn.LayerNorm(s), (4096, size), beside=[empty(size)] * 2)
for size in (32, 64, 512, 1024, 2048):
    own(f"group_norm_{size}", lambda s=size: nn.GroupNorm(s // 4, s), (128, size, 512))
    own(f"group_norm_{size}_both", lambda s=size: nn.GroupNorm(s // 4, s), (128, size, 512), beside=[empty(size)] * 2)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4096, 128256, bias=False, dtype=HALF)

    def forward(self, x, y):
        return {"loss": F.cross_entropy(self.lin(x), y)}


for rows in (4096, 8192, 16384, 32768):
    for both in ([], [empty(128256, 4096, dtype=HALF)]):
        own(f"lm_head_{rows}" + "_both" * len(both), Head, (rows, 4096), HALF,
            targets=[empty(rows, dtype=torch.int64)], beside=both)


class RmsNorm(nn.Module):
    """LlamaRMSNorm with a weight in float32, as the benchmark has it."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(dtype)


for size in (1024, 2048, 4096, 8192, 16384, 32768):
    own(f"rms_norm_{size}", lambda s=size: RmsNorm(s), (2048, size), HALF)
    own(f"rms_norm_{size}_both", lambda s=size: RmsNorm(s), (2048, size), HALF,
        beside=[empty(size), empty(2048, size, dtype=HALF)])


def imported(path, name, replace=()):
    """The module of a file, with texts replaced."""
    text = path.read_text()
    for old, new in replace:
        text = text.replace(old, new)
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def benchmarked(folder, script, function, x, config):
    """What the benchmark runs again and again to take its peak, with all that it made before: of the provider
    "huggingface", in the mode "full". `folder`: has benchmark/ and src/ of Liger-Kernel. Nothing of it is changed but
    the device."""
    found = []
    for name in ("liger_kernel", "liger_kernel.transformers"):  # without the patches of older versions of transformers
        package = types.ModuleType(name)
        package.__path__ = [str(folder / "src" / name.replace(".", "/"))]
        sys.modules[name] = package
    scripts = folder / "benchmark" / "scripts"
    utils = imported(scripts / "utils.py", "utils", [('version("liger-kernel")', '""')])
    utils._test_memory = lambda run, **_: found.append(run) or [0, 0, 0]
    module = imported(scripts / script, "benchmark", [('"cuda"', '"meta"')])
    getattr(module, function)(utils.SingleBenchmarkRunInput(x, "huggingface", "full", config))
    return found[0]


def liger_steps(folder):
    """Functions of the benchmark by the names of their records."""
    folder = pathlib.Path(folder)
    norm = {"M": 2048, "dtype": HALF, "eps": 1e-6}
    head = {"H": 4096, "V": 128256, "dtype": HALF, "mode": "forward"}
    steps = {f"rms_norm_{n}_own": lambda n=n: benchmarked(
        folder, "benchmark_rms_norm.py", "bench_memory_rms_norm", n, norm)
        for n in (1024, 2048, 4096, 8192, 16384, 32768)}
    return steps | {f"lm_head_{n}_own": lambda n=n: benchmarked(
        folder, "benchmark_fused_linear_cross_entropy.py", "bench_memory_fused_linear_cross_entropy", n, head)
        for n in (4096, 8192, 16384, 32768)}
