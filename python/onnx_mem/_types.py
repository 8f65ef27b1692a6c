"""What the functions of the package take, for type checkers and editors. No torch and no onnx is imported for it."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from ._record.record import Record
    from .reports import Plan, Report

Verdict: TypeAlias = Literal["fits", "may-fit", "does-not-fit"]


class Tensor(Protocol):
    """A torch.Tensor."""
    @property
    def shape(self) -> object: ...
    @property
    def requires_grad(self) -> bool: ...


class Module(Protocol):
    """A torch.nn.Module."""
    training: bool

    def named_parameters(self) -> Iterable[tuple[str, Tensor]]: ...


class Proto(Protocol):
    """An onnx.ModelProto."""
    @property
    def graph(self) -> object: ...
    def SerializeToString(self) -> bytes: ...


class Config(Protocol):
    """A transformers.PretrainedConfig."""
    @property
    def model_type(self) -> str: ...
    def to_dict(self) -> Mapping[str, object]: ...


class Collection(Protocol):
    """A list or a dict of inputs, and no text."""
    def clear(self) -> None: ...
    def __len__(self) -> int: ...


Path: TypeAlias = "str | PathLike[str]"
Model: TypeAlias = "Path | Proto | Record | Module | Config | Report"
Input: TypeAlias = "Tensor | Collection | tuple[object, ...]"
Dims: TypeAlias = "int | tuple[int, ...]"
BatchDim: TypeAlias = "int | Mapping[str, int] | None"
FreeSize: TypeAlias = "Mapping[str, Dims | Mapping[str, Dims]]"
Loss: TypeAlias = "Callable[..., Tensor]"
LossAndTargets: TypeAlias = "Loss | tuple[object, ...]"
Precision: TypeAlias = Literal["bf16", "fp16", "amp-bf16", "amp-fp16"]
Mode: TypeAlias = Literal["eval", "train"]
GivenPlan: TypeAlias = "Plan | Path | Mapping[str, object] | Sequence[str | Sequence[str] | Mapping[str, object]]"
