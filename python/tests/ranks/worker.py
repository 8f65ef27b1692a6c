"""One rank of several, on the CPU with gloo: the peak of what torch has alive in the second of two steps.

    worker.py CONFIGURATION RANK WORLD STORE [CODE]    # prints bytes and gradients; test_ranks.py starts it

CODE: what `onnx-mem plan --emit pytorch --self-contained` printed, whose set_up is called in place of ours."""
from __future__ import annotations

import hashlib
import pathlib
import sys
import weakref
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

VOCABULARY, WIDTH, TOKENS = 512, 64, 32
# With --tp the peak is to be in backward: foreach refuses lists that mix DTensors and tensors, so that there are two
# groups of parameters, which onnx-mem does not know.
BATCH = {"tp": 32, "fsdp-tp": 32, "plan-fsdp": 32, "plan-ddp": 32, "plan-zero1": 32,
         "plan-tp": 32, "plan-fsdp-tp": 32, "pipeline": 32, "plan-pipeline": 64, "plan-interleaved": 64}
MICRO_BATCHES = 4


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n, self.f1, self.f2 = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.f2(torch.relu(self.f1(self.n(x))))


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n, self.o = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.o(self.n(x))


def model() -> nn.Sequential:
    return nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), Block(), Block(), Block(), Head())


class Live(TorchDispatchMode):
    """Every distinct storage from birth to death, at its size at that time."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: dict[int, weakref.ref[Any]] = {}
        self.on_host: dict[int, weakref.ref[Any]] = {}  # copies that a plan made, which are pinned where there is a GPU
        self.makes_host_copy = False
        self.peak = 0
        self.empty = torch.empty
        torch.empty = self.watched_empty

    def watched_empty(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        self.makes_host_copy = "pin_memory" in kwargs
        try:
            return self.empty(*args, **kwargs)
        finally:
            self.makes_host_copy = False

    def see(self, values: Any) -> None:
        for leaf in tree_leaves(values):
            if isinstance(leaf, torch.Tensor):
                local = getattr(leaf, "_local_tensor", leaf)
                local = getattr(local, "elem", local)  # of a collective that is not waited for: it has no bytes itself
                storage = local.untyped_storage()
                host = self.on_host.get(storage._cdata)
                if host is None or host() is None:
                    self.storages[storage._cdata] = weakref.ref(storage)
        alive = [storage for ref in self.storages.values() if (storage := ref()) is not None]
        self.peak = max(self.peak, sum(storage.nbytes() for storage in alive))
        self.storages = {storage._cdata: weakref.ref(storage) for storage in alive}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(t.__name__ == "DTensor" for t in types):
            return NotImplemented  # its operators on local tensors come back here
        out = func(*args, **(kwargs or {}))
        if self.makes_host_copy:
            storage = out.untyped_storage()
            self.on_host[storage._cdata] = weakref.ref(storage)
        self.see((args, kwargs, out))
        return out


def shard(m: nn.Module, mesh: Any, dtype: torch.dtype | None = None) -> nn.Module:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=dtype)
    for block in (m[1], m[2], m[3]):  # type: ignore[index]
        fully_shard(block, mesh=mesh, mp_policy=policy)
    return fully_shard(m, mesh=mesh, mp_policy=policy)


def split(m: nn.Module, mesh: Any) -> nn.Module:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    plan = {f"{b}.{layer}": style for b in (1, 2, 3)
            for layer, style in (("f1", ColwiseParallel()), ("f2", RowwiseParallel()))}
    return parallelize_module(m, mesh, plan)


def spread(name: str, m: nn.Module, world: int) -> tuple[nn.Module, Any]:
    """The model as the configuration has it, and what makes its optimizer."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel
    adam = lambda ps: torch.optim.Adam(ps, foreach=True)  # noqa: E731
    if name == "ddp-view":
        return DistributedDataParallel(m, gradient_as_bucket_view=True), adam
    if name == "zero1":
        def zero(ps: Any) -> Any:
            return ZeroRedundancyOptimizer(ps, optimizer_class=torch.optim.Adam, foreach=True)
        return DistributedDataParallel(m), zero
    if name == "ddp":
        return DistributedDataParallel(m), adam
    if name in ("fsdp", "fsdp-bf16"):
        mesh = init_device_mesh("cpu", (world,))
        return shard(m, mesh, torch.bfloat16 if name == "fsdp-bf16" else None), adam
    if name == "hsdp":
        return shard(m, init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("copies", "shards"))), adam
    mesh = init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("data", "tensor"))
    m = split(m, mesh["tensor"])
    return (shard(m, mesh["data"]) if name == "fsdp-tp" else m), adam


def set_up_by(code: str, m: nn.Module) -> tuple[nn.Module, Any]:
    scope: dict[str, Any] = {}
    exec(compile(pathlib.Path(code).read_text().replace('"cuda"', '"cpu"'), code, "exec"), scope)
    return scope["set_up"](m, torch.optim.Adam, foreach=True)


SPLITS = {"pipeline": ["2"], "interleaved": ["1", "2", "3"]}  # of two ranks


def stage_by(name: str, code: str | None, m: nn.Module, x: torch.Tensor) -> tuple[Any, Any]:
    """This rank's schedule and optimizer; other stages are gone with what is not returned."""
    from torch.distributed.pipelining import Schedule1F1B, ScheduleInterleaved1F1B, SplitPoint, pipeline
    loss = lambda y, t: nn.functional.cross_entropy(y.flatten(0, 1), t.flatten())  # noqa: E731
    part = x[:len(x) // MICRO_BATCHES]
    if code is not None:
        scope: dict[str, Any] = {}
        exec(compile(pathlib.Path(code).read_text(), code, "exec"), scope)
        return scope["set_up"](m, (part,), loss, torch.device("cpu"), torch.optim.Adam, foreach=True)
    begins = SPLITS[name.removeprefix("plan-")]
    pipe = pipeline(m, mb_args=(part,), split_spec=dict.fromkeys(begins, SplitPoint.BEGINNING))
    own = range(dist.get_rank(), len(begins) + 1, 2)
    stages: list[Any] = [pipe.build_stage(number, torch.device("cpu")) for number in own]
    several = len(stages) > 1
    schedule: Any = (ScheduleInterleaved1F1B(stages, n_microbatches=MICRO_BATCHES, loss_fn=loss) if several
                     else Schedule1F1B(stages[0], n_microbatches=MICRO_BATCHES, loss_fn=loss))
    return schedule, torch.optim.Adam([p for stage in stages for p in stage.submod.parameters()], foreach=True)


def run_stages(name: str, code: str | None) -> tuple[int, str]:
    torch.manual_seed(0)
    x = torch.arange(BATCH[name] * TOKENS).reshape(-1, TOKENS) % VOCABULARY
    target = (x + 1) % VOCABULARY
    schedule, optimizer = stage_by(name, code, model(), x)
    with Live() as live:
        first = dist.get_rank() == 0
        live.see([*optimizer.param_groups[0]["params"], x if first else target])
        for _ in range(2):
            optimizer.zero_grad()
            live.peak = 0
            losses: list[torch.Tensor] = []
            more = {"return_outputs": name == "pipeline", "losses": losses}
            schedule.step(x, **more) if first else schedule.step(target=target, **more)
            optimizer.step()
        stages = schedule._stages if name.endswith("interleaved") else [schedule._stage]
        return live.peak, gradients(nn.ModuleList(stage.submod for stage in stages))


def gradients(m: nn.Module) -> str:
    """Of this rank, bit by bit."""
    own = [getattr(p.grad, "_local_tensor", p.grad) for p in m.parameters()]
    return hashlib.sha256(b"".join(g.contiguous().numpy().tobytes() for g in own if g is not None)).hexdigest()


def run(name: str, world: int, code: str | None) -> tuple[int, str]:
    torch.manual_seed(0)
    with Live() as live:
        m = model()
        live.see(list(m.parameters()))
        if code is not None:
            wrapped, optimizer = set_up_by(code, m)
        else:
            wrapped, optimizer_of = spread(name.removeprefix("plan-"), m, world)
            groups: dict[bool, list[nn.Parameter]] = {}
            for p in wrapped.parameters():
                groups.setdefault(hasattr(p, "_local_tensor"), []).append(p)
            optimizer = optimizer_of([{"params": ps} for ps in groups.values()])
        x = torch.zeros(BATCH.get(name, 4), TOKENS, dtype=torch.int64)
        target = torch.zeros(x.numel(), dtype=torch.int64)
        if name.startswith("plan-"):  # whose gradients are compared
            x = torch.arange(x.numel()).reshape(x.shape) % VOCABULARY
            target = (x.flatten() + 1) % VOCABULARY
        for _ in range(2):
            optimizer.zero_grad()
            live.peak = 0
            y = wrapped(x)
            loss = nn.functional.cross_entropy(y.flatten(0, 1), target)
            loss.backward()
            optimizer.step()
        return live.peak, gradients(wrapped)


if __name__ == "__main__":
    configuration, rank, world, store = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    given = sys.argv[5] if len(sys.argv) > 5 else None
    staged = configuration.endswith(("pipeline", "interleaved"))
    peak, digest = run_stages(configuration, given) if staged else run(configuration, world, given)
    print(f"peak {peak} gradients {digest}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
