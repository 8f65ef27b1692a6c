"""Runs a record in PyTorch. What the replayed program needs is what the model needs: the check of a record, and the
meaning of each of its lines."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.checkpoint
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_unflatten, treespec_loads

from .._fake.numbers import expected, known, tell
from .._fake.recurrent import RECURRENT, recurrent
from .._fake.tensors import DEVICE
from ..errors import Error
from .record import MODES, Record
from .settle import reads
from .sizes import at_batch

_READS = ("_local_scalar_dense", "equal", "allclose")     # numbers that forward got, which followed from no data
_CONJUGATES = ("_conj", "_neg_view")
_PUTS = ("index_put", "index_put_", "_unsafe_index_put")


@functools.cache
def _operator(name: str) -> Any:
    if name in RECURRENT:
        return functools.partial(recurrent, name)
    namespace, _, rest = name.rpartition("::")
    base, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace or "aten"), base), overload or "default")
    except AttributeError as e:
        raise Error(f"operator '{name}' is not known to torch {torch.__version__}", "unknown-operator") from e


class _Block:
    """A span of lines: of the whole program, a Function or a checkpointed part."""

    def __init__(self, kind: str, opening: dict[str, Any]) -> None:
        self.kind, self.opening = kind, opening
        self.items: list[Any] = []                      # lines and blocks
        self.closing: dict[str, Any] = {}
        self.backward: _Block | None = None        # of a Function

    def op_lines(self) -> Iterator[Any]:
        for x in self.items:
            if isinstance(x, _Block):
                yield from x.op_lines()
            elif "op" in x:
                yield x


def _nested(lines: list[str]) -> _Block:
    top = _Block("program", {})
    stack = [top]
    for x in lines:
        opened = next((k for k in ("function", "backward", "checkpoint") if k in x), None)
        if opened:
            block = _Block(opened, x)
            if opened == "backward":
                stack[-1].items[-1].backward = block
            else:
                stack[-1].items.append(block)
            stack.append(block)
        elif "endfunction" in x or "endbackward" in x or "endcheckpoint" in x:
            stack.pop().closing = x
        else:
            stack[-1].items.append(x)
    return top


class Replay(torch.nn.Module):
    """Uses nothing of the model's code.

    Args:
      record: what to run.
      batch: at which batch.
      after_line: called after every operator of the program, before what it drops is dropped.
    """

    def __init__(self, record: Record, batch: int, after_line: Any = None) -> None:
        super().__init__()
        self._after_line = after_line
        self._programs = {k: at_batch(record.programs.get(f"{k} at {batch}", p), batch)
                          for k, p in record.programs.items() if k in MODES}
        self._blocks = {k: _nested(p["lines"]) for k, p in self._programs.items()}
        self._own: dict[str, Any] = {}                       # (mode, number) -> table
        self._left: list[Any] | None = None                  # what the call before returned inside other objects
        self._replaced = {k: [v for x in p["lines"] for v in x.get("drops", ())
                              if p["values"][v]["kind"] in ("const", "buffer")] for k, p in self._programs.items()}
        self._state = {self._programs[k]["values"][v]["name"] for k, of in self._replaced.items() for v in of} - {None}
        values = next(iter(self._programs.values()))["values"]
        for v in values:
            if v["kind"] == "param":
                made = self._window(v, values)
                self.register_parameter(_key(v), torch.nn.Parameter(made, requires_grad=v["trained"]))
            elif v["kind"] == "buffer" and v["name"] not in self._state:
                self.register_buffer(_key(v), self._window(v, values))

    def _table(self, mode: str, number: Any, v: Any) -> Any:
        """A table kept outside the buffers, as the model has it, made by the first call in a mode and kept; a buffer
        that each call replaces."""
        if (mode, number) not in self._own:
            self._own[mode, number] = self._empty(v)
        return self._own[mode, number]

    def _keep_state(self, mode: str, p: Any, env: dict[Any, Any]) -> None:
        """What stands for the next call where this one let a table go: a value of its type that nothing drops. What
        else nothing drops is in what the model returned, inside an object that is no container of tensors (a cache)."""
        def is_made(v: Any) -> bool:
            root = p["values"][v]["root"]
            return all(p["values"][x]["kind"] == "value" for x in (v, v if root is None else root))
        left = [v for v in env if is_made(v) and v not in p["returned"]]
        for i in self._replaced[mode]:
            like = [v for v in left if all(p["values"][v][k] == p["values"][i][k] for k in ("shape", "dtype"))]
            if like:
                self._own[mode, i] = env[like[0]]
                left.remove(like[0])
        self._left = [env[v] for v in left]

    @staticmethod
    def _empty(v: Any) -> Any:
        device = DEVICE if v["device"] == "cuda" else v["device"]
        return torch.empty_strided(v["shape"], v["strides"], dtype=getattr(torch, v["dtype"]), device=device)

    def _window(self, v: Any, values: Any) -> Any:
        if v["root"] is None:
            return self._empty(v)
        with torch.no_grad():
            return torch.as_strided(getattr(self, _key(values[v["root"]])), v["shape"], v["strides"], v["offset"])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        mode = "train" if self.training and "train" in self._programs else "eval"
        p = self._programs[mode]
        flat = list({id(t): t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}.values())
        del args, kwargs
        self._left = None
        env: dict[str, Any] = {}
        for i, v in enumerate(p["values"]):
            if v["kind"] == "const" or v["name"] in self._state:
                env[i] = self._table(mode, i, v)
                if i in self._replaced[mode]:
                    del self._own[mode, i]
            elif v["kind"] in ("param", "buffer"):
                env[i] = getattr(self, _key(v))
            elif v["kind"] == "input":
                env[i] = flat.pop(0)
        flat = None
        with contextlib.ExitStack() as stack:
            _Run(p, self, stack).block(self._blocks[mode], env, set(p["returned"]))
        returned = [env[v] if v is not None else None for v in p["returned"]]
        loss = env[p["loss"]] if p["loss"] is not None else None
        self._keep_state(mode, p, env)
        env = None
        out = tree_unflatten(returned, treespec_loads(p["tree"]))
        return out if loss is None else RecordedOutput(out, loss)


class RecordedOutput(dict[str, Any]):
    """What a recorded model with a loss of its own returns: "loss", and everything it returned under "returned"."""

    def __init__(self, returned: Any, loss: Any) -> None:
        super().__init__(loss=loss, returned=returned)


torch.utils._pytree.register_pytree_node(RecordedOutput, lambda x: ([x["returned"], x["loss"]], None),
                                         lambda children, _: RecordedOutput(*children))


def _key(v: Any) -> Any:
    return v["name"].replace(".", "/")


def _tell_places(into: torch.Tensor, indices: Any, values: torch.Tensor) -> None:
    """A mask chooses as many places as values are written there: backward counts them."""
    at = next((i for i, t in enumerate(indices) if t is not None), 0)
    mask = indices[at]
    if (len(indices) != at + 1 or mask.dtype is not torch.bool or known(mask) is not None
            or values.dim() != into.dim() - mask.dim() + 1 or values.shape[at] == 1):
        return
    with no_dispatch():
        places = torch.arange(mask.numel()).reshape(tuple(mask.shape)) < values.shape[at]
    tell(mask, places)


class _Run:
    """The interpreter of one forward."""

    def __init__(self, program: Any, replay: Any, stack: Any) -> None:
        self.values, self.after_line, self.training = program["values"], replay._after_line, replay.training
        self.stack = stack
        self.used_outside: dict[int, int] = {}
        self.made_within = _made_within(program)

    def block(self, block: Any, env: dict[Any, Any], kept: Any) -> None:
        """Runs the items of a block; values in `kept` outlive their drops."""
        for n, x in enumerate(block.items):
            if isinstance(x, _Block):
                later = kept | set().union(*[_read_in(y) for y in block.items[n + 1:]])
                inside = self.function if x.kind == "function" else self.checkpoint
                inside(x, env, later, kept)
            elif "grad" in x:
                self.stack.enter_context(torch.set_grad_enabled(x["grad"] and self.training))
            elif "leaf" in x:
                env[x["leaf"]].requires_grad_(True)
            elif "op" in x:
                self.op(x, env, kept)

    def op(self, x: Any, env: dict[Any, Any], kept: Any) -> None:
        if x["op"] not in _READS and self.made_within.isdisjoint(x["outs"]):
            self.run(x, env)
        if self.after_line is not None:
            self.after_line(x)
        for v in x["drops"]:
            if v not in kept:
                env.pop(v, None)

    def run(self, x: Any, env: dict[Any, Any]) -> None:
        args = [_decode(a, env) for a in x["args"]]
        operator = _operator(x["op"])
        if x["op"] in _PUTS:
            _tell_places(*args[:3])
        with expected(operator, [self.values[v] for v in x["outs"]]):
            out = operator(*args, **{k: _decode(a, env) for k, a in x["kwargs"].items()})
        args = None
        made = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        for v, t in zip(x["outs"], made, strict=False):
            env[v] = t
        out = made = t = None

    def function(self, block: Any, env: dict[Any, Any], later: Any, kept: Any) -> None:
        if block.backward is None or not torch.is_grad_enabled():
            self.block(block, env, kept)
            return
        of = [o for _, o in block.backward.opening["backward"]]
        to = list(dict.fromkeys(i for _, i in block.backward.closing["endbackward"]))
        made = {o for x in block.op_lines() for o in x["outs"]}
        outs = list(dict.fromkeys(of + [v for v in sorted(made & later) if v not in to]))
        results = _Function.apply(self, block, env, of, to, outs, *[env[v] for v in to])
        results = results if isinstance(results, tuple) else (results,)
        for v, t in zip(outs, results, strict=False):
            env[v] = t
        results = t = None
        self.drop_of(block, env, kept)

    def drop_of(self, block: Any, env: dict[Any, Any], kept: Any) -> None:
        for x in block.op_lines():
            for v in x["drops"]:
                if v not in kept:
                    env.pop(v, None)

    def checkpoint(self, block: Any, env: dict[Any, Any], later: Any, kept: Any) -> None:
        if not torch.is_grad_enabled():
            self.block(block, env, kept)
            return
        made = {o for x in block.op_lines() for o in x["outs"]}
        outs = sorted(made & later)
        given = block.opening["checkpoint"]
        others = {v: env[v] for v in _read_in(block) if v in env and v not in given}

        def run(*tensors: Any) -> Any:
            local = {**others, **dict(zip(given, tensors, strict=False))}
            self.block(block, local, set(outs) | kept)
            return tuple(local[v] for v in outs)
        results = torch.utils.checkpoint.checkpoint(run, *[env[v] for v in given], use_reentrant=False,
                                                    preserve_rng_state=False)
        run = None
        for v, t in zip(outs, results, strict=False):
            env[v] = t
        results = t = None
        self.drop_of(block, env, kept)


def _made_within(program: Any) -> set[int]:
    """Copies of conjugates that no line reads: the kernel behind makes its own, of what it gets."""
    ops = [x for x in program["lines"] if "op" in x]
    conjugates = {v for x in ops if x["op"] in _CONJUGATES for v in x["outs"]}
    read = {v for x in ops for v in reads([x["args"], x["kwargs"]])}
    return {v for x in ops if x["op"] == "clone" and x["args"][0]["v"] in conjugates for v in x["outs"]} - read


def _read_in(x: Any) -> set[int]:
    if isinstance(x, _Block):
        named = set(x.closing.get("endfunction", ())) | set(x.closing.get("held", ()))
        return named.union(*[_read_in(y) for y in x.items], *[_read_in(x.backward)] if x.backward else [])
    return set(reads([x["args"], x["kwargs"]])) | set(x["outs"]) if "op" in x else set()


def _decode(a: Any, env: dict[Any, Any]) -> Any:
    if isinstance(a, dict):
        (kind, x), = a.items()
        if kind == "v":
            return env[x]
        return getattr(torch, x) if kind in ("dtype", "enum") else torch.device(x)
    return [_decode(x, env) for x in a] if isinstance(a, list) else a


class _Function(torch.autograd.Function):
    """A recorded autograd.Function: its forward's lines, and its backward's."""

    @staticmethod
    def forward(ctx: Any, run: Any, block: Any, env: dict[Any, Any], of: Any, to: Any, outs: Any, *tensors: Any) -> Any:
        env.update(zip(to, tensors, strict=False))
        saved, held = block.closing["endfunction"], block.closing["held"]
        run.block(block, env, {*saved, *held, *outs})
        ctx.run, ctx.block, ctx.to = run, block, to
        ctx.saved = saved
        ctx.save_for_backward(*[env[v] for v in saved])
        ctx.held = {v: env[v] for v in held}
        ctx.statics = {v: t for v, t in env.items() if run.values[v]["kind"] in ("param", "buffer", "const", "input")}
        written = {o for x in block.op_lines() if x["op"].split(".")[0].endswith("_") for o in x["outs"]}
        ctx.mark_dirty(*[env[v] for v in outs if v in to and v in written])
        ctx.mark_non_differentiable(*[env[v] for v in outs if v not in of])
        return tuple(env[v] for v in outs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        block = ctx.block.backward
        env = {**ctx.statics, **ctx.held, **dict(zip(ctx.saved, ctx.saved_tensors, strict=False))}
        env.update({g: t for (g, _), t in zip(block.opening["backward"], gradients, strict=False)})
        results = {}
        pairs = block.closing["endbackward"]
        ctx.run.block(block, env, {g for g, _ in pairs})
        for g, i in pairs:
            results[i] = env[g]
        return (None,) * 6 + tuple(results.get(i) for i in ctx.to)
