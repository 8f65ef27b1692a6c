"""export(): an .onnx file with the record of what the framework runs; verify(): the record held against the model."""
from __future__ import annotations

import contextlib
import functools
import io
import logging
import math
import os
import pathlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from ._examples import examples
from ._fake.inputs import batch_dim_of, free_dims, input_names
from ._fake.tensors import batch_of, weightless
from ._measure.step import measure
from ._progress import doing, say
from ._record.check import replayed
from ._record.record import Record
from ._record.recorder import record
from ._record.text import number
from ._record.verified import Verified, ask, first_difference
from ._types import BatchDim, FreeSize, Input, LossAndTargets, Module, Path, Precision
from .errors import Error, reported
from .metadata import attach, read_record

WEIGHTS_FILE = "weights-not-written.bin"
_NO_WEIGHTS = "It holds no weights; for a file that a runtime loads: onnx_mem.export(..., weights=True)"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ALIGNED = 4096
_ONNX_TYPES = {"float32": "FLOAT", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "float64": "DOUBLE", "int64": "INT64",
               "int32": "INT32", "int16": "INT16", "int8": "INT8", "uint8": "UINT8", "bool": "BOOL",
               "complex64": "COMPLEX64", "complex128": "COMPLEX128"}


class _WithLoss(torch.nn.Module):
    """The model and its loss as one module that returns {"loss", "output"}."""

    def __init__(self, model: torch.nn.Module, loss: Any, targets: Any) -> None:
        super().__init__()
        self.model, self.loss, self.targets = model, loss, targets

    def forward(self, args: Any, kwargs: dict[str, Any], targets: Any) -> Any:
        out = self.model(*args, **kwargs)
        return {"loss": self.loss(out, *targets), "output": out}


@reported
def export(model: Module | None = None, args: object = (), *rest: object, path: Path | None = None,
           kwargs: Mapping[str, object] | None = None, step: Callable[..., object] | None = None,
           batch_dim: BatchDim = 0, free: FreeSize | None = None,
           loss: LossAndTargets | None = None, weights: bool = False,
           precisions: Precision | Sequence[Precision] = (), **inputs: Input) -> pathlib.Path:
    """Writes a file that onnx-mem predicts from exactly: the model's graph, and the record of what the framework runs.

        export(model, (x, y), "model.onnx")
        export(model, x, y, "model.onnx")
        export(model, path="model.onnx", input_ids=ids, attention_mask=mask)

    The record needs no exporter. Where none can write the graph, the file holds the record, the inputs and the outputs,
    and a warning says so. The file holds no weights, and a runtime cannot load it: weights=True writes them.

    Args:
      model: on any device, also on meta. It is not changed.
      args, kwargs, inputs: example inputs, as in record().
      path: ends in .onnx; or in .eager, for the bare text of the record without a graph. The last argument, or by name.
      step: as in record(); path ends in .eager, as a step has no graph.
      batch_dim: as in record().
      free: as in record(): {"seq": 1} has --dim seq=2048 ask for another length.
      loss: a callable of the model's output that gives the scalar that is trained on, or (callable, target, ...): it is
        called with the output and the targets, which have the batch as their first dimension. Without it, the model's
        own loss where it returns one, else whatever --loss says.
      precisions: as in record(): what --dtype and --amp then ask of the record is exact too.
      weights: also write the weights; without, the file names a data file that does not exist.

    Returns:
      The path.

    Raises:
      CannotRecord: where the model has no record; nothing is written.
    """
    path, args, rest = _path_of(path, args, rest)
    args, kwargs = examples(args, rest, kwargs, inputs)
    if step is not None:
        if path.suffix != ".eager" or loss is not None or weights or precisions:
            raise Error("a step of your own has a record and no graph\n"
                        "  try: onnx_mem.export(step=step, args=(x, y), path=\"step.eager\")", "bad-argument")
        with doing("recording the step"):
            return record(model, args, kwargs=kwargs, step=step, batch_dim=batch_dim, free=free).save(path)
    with doing(f"recording {type(model).__name__}"):
        if loss is None:
            made = record(model, args, kwargs, batch_dim=batch_dim, free=free, precisions=precisions)
        else:
            made = _record_with_loss(model, args, kwargs, batch_dim, free, loss, precisions)
    if path.suffix == ".eager":
        return made.save(path)
    with doing("writing the graph"):
        proto, reason = (_graph_with_weights(model, args, kwargs, path) if weights else
                         _graph_without_weights(model, args, kwargs, batch_dim, free if made.free else None))
    if proto is None:
        warnings.warn(f"the exporter could not write the graph ({reason}); '{path.name}' holds the record, and inputs "
                      "and outputs without nodes", stacklevel=3)
        proto = _graph_without_nodes(made, type(model).__name__)
    _store_the_rest(proto.graph, made, dict(_stored(model)) if weights else {})
    attach(proto, made)
    if not weights:
        proto.doc_string = _NO_WEIGHTS
    path.write_bytes(proto.SerializeToString())
    say(f"wrote {path.name}" + ("" if weights else f". {_NO_WEIGHTS}"))
    return path


def _path_of(path: Any, args: Any, rest: tuple[Any, ...]) -> tuple[pathlib.Path, object, tuple[Any, ...]]:
    """(path, args, rest) with the path taken from where export() was given it.

    Raises Error with code "bad-argument"; "not-found" where its folder is not there."""
    if path is None and rest:
        path, rest = rest[-1], rest[:-1]
    elif path is None and isinstance(args, (str, os.PathLike)):
        args, path = (), args
    if not isinstance(path, (str, os.PathLike)):
        raise Error("export wants the path of what is written: export(model, (x,), \"model.onnx\")", "bad-argument")
    path = pathlib.Path(path)
    if path.suffix not in (".onnx", ".eager"):
        raise Error(f"'{path}': the name of what is written ends in .onnx or .eager", "bad-argument")
    if not path.parent.is_dir():
        raise Error(f"'{path.parent}': no such folder", "not-found")
    return path, args, tuple(rest)


def _record_with_loss(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], batch_dim: Any, free: Any, loss: Any,
                      precisions: Any) -> Record:
    function, *targets = loss if isinstance(loss, (tuple, list)) else (loss,)
    names = input_names(model, args, kwargs)
    dims: Any = batch_dim
    module = _WithLoss(model, function, None)
    # The names as the wrapping module has them, in the same order.
    inner = input_names(module, (args, kwargs, ()), {})
    if free and isinstance(next(iter(free.values())), dict):
        (name, by_input), = free.items()
        free = {name: {i: by_input[n] for n, i in zip(names, inner, strict=False) if n in by_input}}
    if isinstance(batch_dim, dict):
        dims = {i: batch_dim[n] for n, i in zip(names, inner, strict=False) if n in batch_dim}
        dims.update({n: 0 for n in input_names(module, (args, kwargs, tuple(targets)), {})[len(inner):]})
    made = record(module, (args, kwargs, tuple(targets)), batch_dim=dims, free=free, precisions=precisions)
    for program in made.programs.values():          # names as of the model itself
        given = iter(names)
        values: list[Any] = program["values"]
        for v in values:
            if v["kind"] in ("param", "buffer"):
                v["name"] = v["name"].removeprefix("model.")
                if "tied" in v:
                    v["tied"] = [n.removeprefix("model.") for n in v["tied"]]
            elif v["kind"] == "input" and not v["name"].startswith("targets"):
                v["name"] = next(given)
        program["lines"] = _without_wrapper(program["lines"])
    return made


def _without_wrapper(lines: list[dict[str, Any]]) -> Any:
    """The lines without the call of the whole model, and with the paths as the model has them."""
    out, depth = [], 0
    for line in lines:
        if "call" in line:
            depth += 1
            if depth == 1:
                continue
            line = dict(call=line["call"].removeprefix("model."))
        elif "ret" in line:
            depth -= 1
            if depth == 0:
                continue
        out.append(line)
    return out


# -- graphs ------------------------------------------------------------------------------------------------------------
def _graph_with_weights(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], path: Any) -> Any:
    """(ModelProto of the file that was written, "") or (None, why not)."""
    import onnx
    try:
        _quietly(lambda: torch.onnx.export(model, args, os.fspath(path), kwargs=kwargs, dynamo=True, optimize=False))
        return onnx.load(os.fspath(path), load_external_data=False), ""
    except Exception as e:
        return None, _first_line(e)


def _graph_without_weights(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], batch_dim: Any, free: Any) -> Any:
    """(ModelProto with weights as external data that is never written, "") or (None, why not)."""
    reason = ""
    for dynamic in (True, False):
        try:
            return _quietly(functools.partial(_exported, model, args, kwargs, batch_dim, free, dynamic)), ""
        except Exception as e:
            reason = reason or _first_line(e)
    return None, reason


def _exported(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], batch_dim: Any, free: Any,
              dynamic: Any) -> Any:
    import onnx_ir
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv() if dynamic else None) as mode:
        fake = weightless(model, device="cpu").eval()

        def one(t: torch.Tensor) -> Any:
            if not isinstance(t, torch.Tensor):
                return t
            return torch.empty_strided(tuple(t.shape), t.stride(), dtype=t.dtype, device="cpu")
        x, kw = tree_map(one, (args, kwargs))
        options = {"dynamic_shapes": _dynamic_shapes(model, x, kw, batch_dim, free)} if dynamic else {}
        del mode
        program = torch.onnx.export(fake, x, kwargs=kw, dynamo=True, optimize=False, verbose=False, **options)
    offset = 0
    for name, value in program.model.graph.initializers.items():
        t = value.const_value
        length = t.nbytes
        offset = -(-offset // _ALIGNED) * _ALIGNED if length >= _ALIGNED else offset
        value.const_value = onnx_ir.ExternalTensor(WEIGHTS_FILE, offset, length, t.dtype, shape=t.shape, name=name)
        offset += length
    return onnx_ir.to_proto(program.model)


def _dynamic_shapes(model: torch.nn.Module, args: Any, kwargs: dict[str, Any], batch_dim: Any, free: Any) -> Any:
    """For torch.export: the batch dimension of every input that has one as "batch", the free one by its own name."""
    names = input_names(model, args, kwargs)
    size = batch_of((args, kwargs), batch_dim, names)
    dims = free_dims(free, (args, kwargs), names)
    leaves, spec = tree_flatten((args, kwargs))
    given = iter(names)
    out: list[dict[int, str] | None] = []
    for t in leaves:
        if not isinstance(t, torch.Tensor):
            out.append(None)
            continue
        name = next(given)
        dim = batch_dim_of(batch_dim, name)
        named = {dim: "batch"} if dim is not None and t.dim() > dim and t.shape[dim] == size else {}
        for at in () if dims is None else dims.of(name):
            if dims is not None and t.dim() > at and t.shape[at] == dims.length:
                named[at] = dims.name
        out.append(named)
    a, k = tree_unflatten(out, spec)
    import inspect
    bound = inspect.signature(model.forward).bind_partial(*a, **k)
    return dict(bound.arguments)


def _quietly(call: Any) -> Any:
    """The exporter's progress and warnings are not this call's."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return call()
    finally:
        log.setLevel(level)


def _first_line(e: Exception) -> str:
    """Plain text: exporters colour their messages for a terminal."""
    lines = [line.strip() for line in _ESCAPE.sub("", str(e)).splitlines() if line.strip()]
    return f"{type(e).__name__}: {lines[0][:200]}" if lines else type(e).__name__


def _stored(model: torch.nn.Module) -> Iterator[Any]:
    """(name, tensor) of parameters and buffers, by each of their names."""
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def _store_the_rest(graph: Any, made: Record, tensors: dict[str, Any]) -> None:
    """Puts the parameters and buffers that no node reads (heads of training alone) into the graph: they are in memory,
    and the names of the graph are what the record is checked by. Counters are left out, as the exporter does.

    tensors: by name, where weights are written."""
    from onnx import TensorProto
    known = {t.name for t in graph.initializer} | {x.name for x in graph.input}
    places = [{e.key: e.value for e in t.external_data} for t in graph.initializer]
    end = max((int(x.get("offset", 0)) + int(x.get("length", 0)) for x in places), default=0)
    values: list[Any] = made.programs["eval"]["values"]
    for v in values:
        names = {v["name"], *v.get("tied", ())}
        if v["kind"] not in ("param", "buffer") or not v["shape"] or names & known:
            continue
        if not all(isinstance(d, int) for d in v["shape"]):    # what a call leaves of its own batch: no file stores it
            continue
        t = graph.initializer.add(name=v["name"], dims=v["shape"],
                                  data_type=getattr(TensorProto, _ONNX_TYPES.get(v["dtype"], "UNDEFINED")))
        if v["name"] in tensors:
            t.raw_data = tensors[v["name"]].detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
            continue
        t.data_location = TensorProto.EXTERNAL
        length = math.prod(v["shape"]) * getattr(torch, v["dtype"]).itemsize
        end += -end % _ALIGNED
        for key, value in (("location", WEIGHTS_FILE), ("offset", end), ("length", length)):
            t.external_data.add(key=key, value=str(value))
        end += length


def _graph_without_nodes(made: Record, name: str) -> Any:
    from onnx import TensorProto, helper

    def info(v: Any, label: str) -> Any:
        shape = [d if isinstance(d, int) else named.get(number(d)) for d in v["shape"]]
        kind = getattr(TensorProto, _ONNX_TYPES.get(v["dtype"], "UNDEFINED"))
        return helper.make_tensor_value_info(label, kind, shape)
    named = {"B": "batch", "S": made.free.name if made.free else None}
    p = made.programs["eval"]
    values: list[Any] = p["values"]
    inputs = [info(v, label) for v in values if v["kind"] == "input" for label in (v["name"], *v.get("tied", ()))]
    outputs = [info(values[v], f"output{i}") for i, v in enumerate(p["returned"]) if v is not None]
    graph = helper.make_graph([], name, inputs, outputs)
    return helper.make_model(graph, producer_name="onnx-mem", producer_version="1")


# -- verify ------------------------------------------------------------------------------------------------------------
@reported
def verify(x: Record | Path, model: Module | None = None, args: object = (), *rest: object,
           kwargs: Mapping[str, object] | None = None, batch: int | None = None, optimizer: str = "adam",
           training: bool = True, batch_dim: BatchDim = 0, length: int | None = None, **inputs: Input) -> Verified:
    """Asks the program what a run takes from a record, and holds it against the model: the figures, and the bytes alive
    at each operator of forward and backward. The record is replayed in PyTorch as well, which tells a hole in the
    record from a fault of the program; without a model the program is held against the replay.

    Args:
      x: a Record, or the path of a file that holds one.
      model, args, kwargs, inputs, batch_dim: what it was made of.
      batch: default: that of args, else 2.
      length: of the record's free size; default: that of the inputs it was made with. Those of args are to have it.

    Raises:
      Error: "no-record" where the file has none; "unknown-operator" where this torch lacks an operator of the record;
        "record-sizes" where it does not hold at this batch; the program's own.
    """
    if not isinstance(x, (Record, str, os.PathLike)):
        raise Error(f"verify wants a record, or the path of a file that holds one, not {type(x).__name__}\n"
                    "  try: onnx_mem.verify(onnx_mem.record(model, x), model, x)", "bad-argument")
    made = x if isinstance(x, Record) else read_record(x)[0]
    if made is None:
        raise Error(f"'{x}' has no record", "no-record")
    if training and not isinstance(optimizer, str):
        raise Error("verify asks the program, which wants an optimizer by its name", "bad-argument")
    args, kwargs = examples(args, rest, kwargs, inputs)
    own = None
    if model is not None:
        own = measure(model, args, kwargs=kwargs, optimizer=optimizer, training=training, batch=batch,
                      batch_dim=batch_dim)
        batch = own.batch
    again = replayed(made.at(length), batch or 2, optimizer, training, own.loss if own and training else None)
    figures, course = ask(made, None if x is made else x, own or again, length)
    return Verified(again, own, figures, first_difference((own or again).course, course))

