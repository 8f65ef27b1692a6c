"""analyze, plan, fit and compare: the program's commands on a path, a ModelProto or a module."""
from __future__ import annotations

import contextlib
import inspect
import os
import pathlib
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _examples
from ._configs import built, is_config
from ._program import options_of, run_answer, run_emitted, run_pictured
from ._progress import doing
from .errors import Error, reported
from .reports import Answer, Comparison, Fit, Plan, Report, answer_of


@reported
def analyze(x: Any, *args: Any, kwargs: Mapping[str, Any] | None = None, batch_dim: Any = 0,
            free: Mapping[str, Any] | None = None, length: int | None = None, **options: Any) -> Report:
    """What a training step and an inference take.

    Args:
      x: path of an .onnx or .eager file, or of a report that was saved; an onnx.ModelProto, a Record, or a
        torch.nn.Module, which is recorded first; a config of transformers, or "hf:" before the path of its config.json,
        of its folder or the name of one in the local cache: built on the meta device, without weights.
      length: of a config's inputs; default: 512, or what the model takes at most.
      args, kwargs, batch_dim, free: example inputs of a module, as in record(); their batch is requested unless
        `batch` is another. With free={"seq": 1}, dim="seq=2048" asks for a length. Tensors by name are inputs too:
        analyze(model, input_ids=ids, attention_mask=mask); other keyword inputs are in kwargs.
      options: those of the command line with underscores: batch=64, optimizer="adam", gpu="a100", amp="bf16" ...;
        a name that is Python's own takes one at its end: for_="onnxruntime", device="cpu", sessions=2.
        docs/reference/options.md lists them all.

    Raises:
      Error: with the program's code, such as "not-found" or "unknown-gpu"; CannotRecord for a module.
    """
    return _answered([], [x], args, kwargs, _Sizes(batch_dim, free, length), options)


@reported
def plan(x: Any, *args: Any, budget: str | None = None, kwargs: Mapping[str, Any] | None = None, batch_dim: Any = 0,
         free: Mapping[str, Any] | None = None, length: int | None = None, **options: Any) -> Plan:
    """A checkpoint plan within `budget` ("4GiB"), the trade-off curve, and the code to apply; plan(...).apply(model)
    does. Arguments as of analyze."""
    return _answered(["plan"], [x], args, kwargs, _Sizes(batch_dim, free, length), {"budget": budget, **options})


@reported
def fit(x: Any, *args: Any, kwargs: Mapping[str, Any] | None = None, batch_dim: Any = 0,
        free: Mapping[str, Any] | None = None, length: int | None = None, **options: Any) -> Fit:
    """The batches that fit gpu="..." or gpu_memory="24GiB": safe, expected, impossible. Arguments as of analyze."""
    return _answered(["fit"], [x], args, kwargs, _Sizes(batch_dim, free, length), options)


@reported
def compare(a: Any, b: Any = None, *args: Any, kwargs: Mapping[str, Any] | None = None, batch_dim: Any = 0,
            free: Mapping[str, Any] | None = None, length: int | None = None, **options: Any) -> Comparison:
    """What b takes more or less than a; where both are modules, the same example inputs serve both.

    a and b may be reports too, saved or as analyze gave them.

    Prediction against reality: b is the path of a snapshot (torch.cuda.memory._dump_snapshot), or None beside
    measured="5.61GiB" (torch.cuda.max_memory_allocated()); the answer is then in `measured`."""
    if b is None and options.get("measured") is None and not isinstance(options.get("batch"), (list, tuple, str)):
        raise Error('nothing to compare with\n  try: onnx_mem.compare("a.onnx", "b.onnx"), or measured="5.61GiB"',
                    "usage")
    return _answered(["compare"], [a] if b is None else [a, b], args, kwargs, _Sizes(batch_dim, free, length), options)


class _Sizes(NamedTuple):
    """What is said of the sizes of example inputs."""
    batch_dim: Any
    free: Any
    length: int | None


class _Given(NamedTuple):
    """A model with its example inputs."""
    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Folder:
    """A folder that is there as long as an answer that reads of it."""
    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="onnx-mem-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _answered(command: list[str], models: list[Any], args: Any, kwargs: Mapping[str, Any] | None, sizes: _Sizes,
              options: dict[str, Any]) -> Any:
    files = _Folder()
    inputs, options = _examples.split(options, command[0] if command else "analyze", models)
    args, kwargs = _examples.positional(args), _examples.joined(kwargs, inputs)
    if command != ["fit"] and not {"batch", "max_batch"} & options.keys():
        options = {**options, "batch": _batch_of_examples(models, args, kwargs, sizes.batch_dim)}
    precisions = _precisions(options)
    given = [_given(x, args, kwargs, sizes.length) for x in models]
    paths = [_file_of(x, sizes, pathlib.Path(files.name) / str(i), precisions, command == ["plan"])
             for i, x in enumerate(given)]
    arguments = [*command, *paths, *options_of(options)]
    if command == ["plan"]:
        answer, screen, code = run_emitted(arguments, files.name)
        made: Any = answer_of(answer, screen, arguments, files)
        made.code = code
        if hasattr(given[0].model, "gradient_checkpointing_enable"):
            from ._checkpoint.hugging_face import beside
            made.beside = beside(given[0].model, arguments, made, files.name)
        return made
    if command:
        return answer_of(*run_answer(arguments, files.name), arguments, files)
    answer, screen, picture = run_pictured(arguments, files.name)
    return answer_of(answer, screen, arguments, files, picture)


def _given(x: Any, args: tuple[Any, ...], kwargs: dict[str, Any], length: int | None) -> _Given:
    """The model as it is, or built of a config."""
    if not is_config(x):
        if length is not None:
            raise Error("length is for a config of transformers; a module has its inputs' own, a file takes dim\n"
                        f'  try: dim="seq={length}"', "bad-argument")
        return _Given(x, args, kwargs)
    if args or kwargs:
        raise Error("example inputs are for a module; a config takes batch and length\n  try: batch=8, length=512",
                    "bad-argument")
    with doing("building the model of its config"):
        model, inputs = built(x, length)
    return _Given(model, (), inputs)


def _is_module(x: Any) -> bool:
    torch = sys.modules.get("torch")       # who has a module has imported it
    return torch is not None and isinstance(x, torch.nn.Module)


def _batch_of_examples(models: Any, args: Any, kwargs: dict[str, Any], batch_dim: Any) -> int | None:
    """That of a module's example inputs; None where there is no module, or none of these."""
    module = next(filter(_is_module, models), None)
    if module is None or not (args or kwargs):
        return None
    from ._fake.inputs import input_names
    from ._fake.tensors import batch_of
    return batch_of((args, kwargs), batch_dim, input_names(module, args, kwargs))


def _precisions(options: Any) -> tuple[str, ...]:
    """What the options ask of a module, which can be recorded so."""
    requested = (("", options.get("dtype")), ("amp-", options.get("amp")))
    return tuple(prefix + name for prefix, name in requested if name in ("bf16", "fp16"))


def _as_word(path: str) -> str:
    """The path as a word that the command line takes for nothing else: a file may be called "plan" or "-v.onnx"."""
    is_word = path.startswith("-") or not os.path.dirname(path) and "." not in path
    return os.path.join(os.curdir, path) if is_word else path


def _file_of(given: _Given, sizes: _Sizes, folder: pathlib.Path, precisions: Any = (), planned: bool = False) -> str:
    x, args, kwargs = given
    if isinstance(x, (str, os.PathLike)):
        if args or kwargs:
            raise Error(f"example inputs are for a module; '{os.fspath(x)}' has its own\n  try: batch=8",
                        "bad-argument")
        return _as_word(os.fspath(x))
    folder.mkdir()
    if isinstance(x, Answer):
        return str(x.save(folder / f"{os.path.basename(x.model.get('path', 'model'))}.json"))
    if hasattr(x, "SerializeToString") and hasattr(x, "graph"):
        path = folder / "model.onnx"
        path.write_bytes(x.SerializeToString())
        return str(path)
    from ._record.record import Record
    if isinstance(x, Record):
        return str(x.save(folder / "model.eager"))
    if _is_module(x):
        if not args and not kwargs:
            raise Error(f"a module wants example inputs{_of_forward(x)}\n  try: onnx_mem.analyze(model, x)",
                        "bad-argument")
        from ._checkpoint.hugging_face import without_cache
        from ._record.recorder import record
        with (without_cache(x) if planned else contextlib.nullcontext(),    # as apply() leaves it
              doing(f"recording {type(x).__name__}")):
            made = record(x, args, kwargs, batch_dim=sizes.batch_dim, free=sizes.free, precisions=precisions)
        return str(made.save(folder / f"{type(x).__name__}.eager"))
    if isinstance(x, type):
        raise Error(f"{x.__name__} is a class, not a model\n  try: onnx_mem.analyze({x.__name__}(...), x)",
                    "bad-argument")
    raise Error(f"a path, a ModelProto, a Record, a torch.nn.Module or a config of transformers is wanted, not "
                f'{type(x).__name__}\n  try: onnx_mem.analyze("model.onnx")', "bad-argument")


def _of_forward(module: Any) -> str:
    """": forward(input)", where that can be read."""
    try:
        return f": forward{inspect.signature(module.forward)}"
    except (TypeError, ValueError):
        return ""
