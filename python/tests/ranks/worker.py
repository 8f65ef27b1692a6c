"""One rank of several, on the CPU with gloo: the peak of what torch has alive in the second of two steps.

    worker.py CONFIGURATION RANK WORLD STORE [CODE]    # prints bytes and gradients; test_ranks.py starts it

CODE: what `onnx-mem plan --emit pytorch --self-contained` printed, whose set_up is called in place of ours."""
from __future__ import annotations

import hashlib
import pathlib
import sys
import time
import weakref
from collections import OrderedDict
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

VOCABULARY, WIDTH, TOKENS = 512, 64, 32
# With --tp the peak is to be in backward: foreach refuses lists that mix DTensors and tensors, so that there are two
# groups of parameters, which onnx-mem does not know.
BATCH = {"pipeline-tp": 64, "tp": 32, "fsdp-tp": 32, "plan-fsdp": 32, "plan-ddp": 32, "plan-zero1": 32,
         "plan-tp": 32, "plan-fsdp-tp": 32, "plan-pipeline": 64, "plan-interleaved": 64}
MICRO_BATCHES = 4
# Seconds. gloo's own thread holds the tensors of a collective for a moment after the one that waits for it goes on
# (workInProgress_ in ProcessGroupGloo.cpp), so what seems to be a new peak is counted again.
LET_GO = 0.01


def batch_of(name: str) -> int:
    return BATCH.get(name, 32 if name.startswith("pipeline") else 4)


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
        if self.bytes_alive() > self.peak:
            time.sleep(LET_GO)
            self.peak = max(self.peak, self.bytes_alive())

    def bytes_alive(self) -> int:
        alive = [storage for ref in self.storages.values() if (storage := ref()) is not None]
        self.storages = {storage._cdata: weakref.ref(storage) for storage in alive}
        return sum(storage.nbytes() for storage in alive)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(t.__name__ == "DTensor" for t in types):
            return NotImplemented  # its operators on local tensors come back here
        out = func(*args, **(kwargs or {}))
        if self.makes_host_copy:
            storage = out.untyped_storage()
            self.on_host[storage._cdata] = weakref.ref(storage)
        self.see((args, kwargs, out))
        return out


def shard(m: nn.Module, mesh: Any, dtype: torch.dtype | None = None, **more: Any) -> nn.Module:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=dtype)
    for block in m.children():
        if isinstance(block, Block):
            fully_shard(block, mesh=mesh, mp_policy=policy, **more)
    return fully_shard(m, mesh=mesh, mp_policy=policy, **more)


def split(m: nn.Module, mesh: Any) -> nn.Module:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    plan = {f"{b}.{layer}": style for b, block in m.named_children() if isinstance(block, Block)
            for layer, style in (("f1", ColwiseParallel()), ("f2", RowwiseParallel()))}
    return parallelize_module(m, mesh, plan)


def spread(name: str, m: nn.Module, mesh: Any) -> tuple[nn.Module, Any]:
    """The model as the configuration has it, on its mesh, and what makes its optimizer."""
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel
    adam = lambda ps: torch.optim.Adam(ps, foreach=True)  # noqa: E731
    group = mesh.get_group() if name.startswith(("ddp", "zero1")) else None
    if name in ("ddp", "ddp-view"):
        return DistributedDataParallel(m, process_group=group, gradient_as_bucket_view=name == "ddp-view"), adam
    if name == "zero1":
        def zero(ps: Any) -> Any:
            return ZeroRedundancyOptimizer(ps, optimizer_class=torch.optim.Adam, process_group=group, foreach=True)
        return DistributedDataParallel(m, process_group=group), zero
    if name in ("fsdp", "fsdp-bf16", "hsdp"):
        return shard(m, mesh, torch.bfloat16 if name == "fsdp-bf16" else None), adam
    if name == "fsdp-kept":
        return shard(m, mesh, reshard_after_forward=False), adam
    m = split(m, mesh["tensor"])
    return (shard(m, mesh["data"]) if name == "fsdp-tp" else m), adam


def mesh_of(name: str, world: int, stages: int) -> Any:
    """(Of the stages, of the ranks of one.) A model that is not cut is one stage."""
    from torch.distributed.device_mesh import init_device_mesh
    each = world // stages
    shapes = {"hsdp": {"copies": 2, "shards": each // 2}, "tp": {"data": each // 2, "tensor": 2},
              "fsdp-tp": {"data": each // 2, "tensor": 2}}
    own = shapes.get(name, {"data": each})
    shape = {"stages": stages, **own} if stages > 1 else own
    mesh = init_device_mesh("cpu", tuple(shape.values()), mesh_dim_names=tuple(shape))
    return (mesh["stages"], mesh[tuple(own)]) if stages > 1 else (None, mesh)


def set_up_by(code: str, m: nn.Module) -> tuple[nn.Module, Any]:
    scope: dict[str, Any] = {}
    exec(compile(pathlib.Path(code).read_text().replace('"cuda"', '"cpu"'), code, "exec"), scope)
    return scope["set_up"](m, torch.optim.Adam, foreach=True)


SPLITS = {"pipeline": ["2"], "interleaved": ["1", "2", "3"]}  # of two ranks


def groups_of(m: nn.Module) -> list[dict[str, Any]]:
    """Of an optimizer: foreach refuses lists that mix DTensors and tensors."""
    groups: dict[bool, list[nn.Parameter]] = {}
    for p in m.parameters():
        groups.setdefault(hasattr(p, "_local_tensor"), []).append(p)
    return [{"params": ps} for ps in groups.values()]


def spread_stage(name: str, world: int, loss: Any) -> tuple[Any, Any]:
    """The same for one of two stages, whose ranks share the batch or its tensors."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    stages, own = mesh_of(name, world, 2)
    number = stages.get_local_rank()
    begin = int(SPLITS["pipeline"][0])
    part = [pair for i, pair in enumerate(model().named_children()) if (i >= begin) == (number == 1)]
    wrapped, optimizer_of = spread(name.removesuffix("-gpipe"), nn.Sequential(OrderedDict(part)), own)
    stage = PipelineStage(wrapped, number, 2, torch.device("cpu"), group=stages.get_group())
    schedule = ScheduleGPipe if name.endswith("-gpipe") else Schedule1F1B
    return schedule(stage, n_microbatches=MICRO_BATCHES, loss_fn=loss), optimizer_of(groups_of(wrapped))


def stage_by(name: str, code: str | None, m: nn.Module, x: torch.Tensor) -> tuple[Any, Any]:
    """This rank's schedule and optimizer; other stages are gone with what is not returned."""
    from torch.distributed.pipelining import Schedule1F1B, ScheduleInterleaved1F1B, SplitPoint, pipeline
    loss = lambda y, t: nn.functional.cross_entropy(y.flatten(0, 1), t.flatten())  # noqa: E731
    part = x[:len(x) // MICRO_BATCHES]
    if name.startswith("pipeline-"):
        return spread_stage(name.removeprefix("pipeline-"), dist.get_world_size(), loss)
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
    x = torch.arange(batch_of(name) * TOKENS).reshape(-1, TOKENS) % VOCABULARY
    target = (x + 1) % VOCABULARY
    schedule, optimizer = stage_by(name, code, model(), x)
    with Live() as live:
        first = dist.get_rank() < dist.get_world_size() // 2
        live.see([*(p for group in optimizer.param_groups for p in group["params"]), x if first else target])
        for _ in range(2):
            optimizer.zero_grad()
            live.peak = 0
            losses: list[torch.Tensor] = []
            more = {"return_outputs": not name.startswith("plan-"), "losses": losses}
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
            layout = name.removeprefix("plan-")
            wrapped, optimizer_of = spread(layout, m, mesh_of(layout, world, 1)[1])
            optimizer = optimizer_of(groups_of(wrapped))
        x = torch.zeros(batch_of(name), TOKENS, dtype=torch.int64)
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
    staged = configuration.startswith("pipeline") or configuration.endswith(("pipeline", "interleaved"))
    peak, digest = run_stages(configuration, given) if staged else run(configuration, world, given)
    print(f"peak {peak} gradients {digest}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
