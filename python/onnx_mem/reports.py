"""Answers of the program as dataclasses. Fields have the names of the JSON contract; what has no field is in
`.json`."""
from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any, TypeVar

from . import _html
from ._figures import FitFigures, InferenceFigures, TrainingFigures
from ._parts import (
    Baseline,
    Card,
    ComparedCard,
    ComparedLayer,
    ComparedOperator,
    Delta,
    Diagnostic,
    FileTensor,
    FitPart,
    Flops,
    Gpu,
    LargestSize,
    Layer,
    LiveTensor,
    MeasuredFigure,
    ModelFacts,
    Peak,
    PlanCard,
    PlanRow,
    PlanStage,
    Saving,
    Scaling,
    Side,
    Time,
    Together,
    Way,
)
from ._program import run_json
from ._types import Path, Verdict
from .errors import Error, reported

M = TypeVar("M")


def _dict() -> Any:
    return dataclasses.field(default_factory=dict)


def _list() -> Any:
    return dataclasses.field(default_factory=list)


def _whole_json() -> Any:
    return dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(kw_only=True)
class Training(TrainingFigures):
    """One training step."""
    verdict: Verdict | None = None  # the worst of all cards; None: no card was named
    lower_bound: bool = False  # a size or an operator is not known: it takes more
    steps: int = 0
    peak: Peak
    breakdown: dict[str, int] = _dict()  # category to bytes at the peak
    json: dict[str, object] = _whole_json()


@dataclasses.dataclass(kw_only=True)
class Inference(InferenceFigures):
    """One forward in evaluation mode under no_grad."""
    verdict: Verdict | None = None
    lower_bound: bool = False
    steps: int = 0
    peak: Peak
    breakdown: dict[str, int] = _dict()
    json: dict[str, object] = _whole_json()


@dataclasses.dataclass
class Run:
    """One batch. `training` or `inference` is None where it was not analyzed."""
    batch: int | None = None
    training: Training | None = None
    inference: Inference | None = None
    flops: Flops | None = None
    time: Time | None = None
    json: dict[str, object] = _whole_json()


@dataclasses.dataclass(repr=False)
class Answer:
    """What every command answers with. str() is the command's own screen of this answer.

    Attributes:
      command: "analyze", "plan", "fit" or "compare".
      model: {"path", "nodes", "parameters", ...}; of compare: that of the first model.
      bindings: sizes of the question: {"batch": 64, "seq": 512}.
      assumptions: what was taken for what the model does not say: {"optimizer": "adam", "loss": ...}.
      diagnostics: what was noticed about the file, with codes.
      source: "record" where the file carries one that was used, "graph" else; None where the program does not say.
      json: the whole answer as the program gave it.
      picture: the course of memory as SVG; "" where there is none (several batches, a saved report).
    """
    command: str = ""
    model: ModelFacts = _dict()
    source: str | None = None
    bindings: dict[str, int | None] = _dict()
    assumptions: dict[str, str] = _dict()
    diagnostics: list[Diagnostic] = _list()
    json: dict[str, object] = _whole_json()
    arguments: list[str] = dataclasses.field(default_factory=list, repr=False)
    screen: str = dataclasses.field(default="", repr=False)
    picture: str = dataclasses.field(default="", repr=False)
    # Keeps what was written for the answer.
    files: object = dataclasses.field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.screen

    def __repr__(self) -> str:
        return f"<onnx_mem.{type(self).__name__} {_html.summary(self.json)}; print() shows it whole>"

    def _repr_html_(self) -> str:
        return _html.shown(str(self), _html.answer(self.json), self.picture)

    @reported
    def save(self, path: Path) -> pathlib.Path:
        """Writes this answer in the form of the path's suffix, and returns the path.

        .json is whole, with layers and tensors, and analyze and compare read it again; .html is the page, .txt the
        screen; .svg, .md, .csv ... are as those of `onnx-mem -o`.

        Raises:
          Error: "changed" where the model's file is another one by now; the program's own.
        """
        path = pathlib.Path(path)
        text = {".txt": str(self), ".svg": self.picture}
        if text.get(path.suffix):
            path.write_text(text[path.suffix], encoding="utf-8")
        elif run_json([*self.arguments, "-o", os.fspath(path)]) != self.json:
            path.unlink(missing_ok=True)
            raise Error(f"'{self.model.get('path')}' has changed since this was answered", "changed")
        return path


@dataclasses.dataclass(repr=False)
class Report(Answer):
    """Of analyze. `training` and `inference` are those of the first batch, on the first of several cards.

    Attributes:
      verdict: of all batches on all cards, and of the budget: the worst; None without a limit.
      gpus: a card each: {"name", "memory_bytes", "usable_bytes", "verdict", "training", "inference"}.
      fits: the verdict is "fits" or "may-fit"; None without a limit.
      scaling: bytes as a function of the batch, where several were given.
      savings: changes that need less.
      layers: the list of by="layer".
      tensors, live_at_peak: the lists of by="tensor": of the file, and what is alive at the peak.
    """
    runs: list[Run] = _list()
    verdict: Verdict | None = None
    fits: bool | None = None
    gpus: list[Card] = _list()
    budget_bytes: int | None = None
    scaling: Scaling | None = None
    savings: list[Saving] = _list()
    layers: list[Layer] = _list()
    tensors: list[FileTensor] = _list()
    live_at_peak: list[LiveTensor] = _list()

    @property
    def training(self) -> Training:
        """Raises Error with code "not-analyzed" where there is none; runs[0].training is None then."""
        found = self.runs[0].training if self.runs else None
        if found is None:
            raise Error("this answer has no training step: mode=\"infer\", or a model that is not trained "
                        "(.inference has what there is)", "not-analyzed")
        return found

    @property
    def inference(self) -> Inference:
        """Raises Error with code "not-analyzed" where there is none; runs[0].inference is None then."""
        found = self.runs[0].inference if self.runs else None
        if found is None:
            raise Error("this answer has no inference: it was made with mode=\"train\" (.training has what there is)",
                        "not-analyzed")
        return found

    __str__ = Answer.__str__


@dataclasses.dataclass(repr=False)
class Plan(Answer):
    """Of plan. `chosen` is the id of the plan that meets the budget, None where none does (status "infeasible").

    Attributes:
      code: the Python of `--emit pytorch --self-contained`, which needs no package; "" without a chosen plan.
      beside: for a model of transformers with a budget, what its own switch takes.
      verdict: of the chosen plan: the worst of its budget and of all cards.
      gpus: each with the step "as_it_is" and "planned".
      layout: of a step over several cards, such as "fsdp 8"; bytes are those of `rank`, segments lie inside `units`
        or `stages`.
      largest_size: with `over`: up to which length the budget has room.
    """
    status: str | None = None
    verdict: Verdict | None = None
    gpus: list[PlanCard] = _list()
    budget_bytes: int | None = None
    minimum_bytes: int | None = None
    baseline: Baseline = _dict()
    planned_interval_bytes: list[int] | None = None
    layout: str | None = None
    rank: str | None = None
    units: list[str] = _list()
    stages: list[PlanStage] = _list()
    largest_size: LargestSize = _dict()
    received_bytes: int | None = None
    received_with_plan_bytes: int | None = None
    chosen: int | None = None
    plans: list[PlanRow] = _list()
    code: str = dataclasses.field(default="", repr=False)
    beside: str = ""

    def apply(self, model: M) -> M:
        """Puts the chosen plan on the model, in place, and returns it: checkpoint(model, self)."""
        from ._checkpoint.planned import checkpoint
        return checkpoint(model, self)

    @property
    def fits(self) -> bool:
        return self.chosen is not None

    @property
    def chosen_plan(self) -> PlanRow | None:
        """The entry of `plans` that was chosen: segments, settings, peak_bytes, slowdown ..."""
        return next((p for p in self.plans if p.get("id") == self.chosen), None)

    @property
    def settings(self) -> dict[str, str]:
        """What the chosen plan needs of the environment: {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, or {}."""
        chosen = self.chosen_plan
        return chosen["settings"] if chosen else {}

    def __str__(self) -> str:
        return Answer.__str__(self) + (f"\n  {self.beside}\n" if self.beside else "")


@dataclasses.dataclass(repr=False)
class Fit(FitFigures, Answer):
    """Of fit. Batches are those of training where it was analyzed; `training` and `inference` have each.

    Attributes:
      verdict: of the batch of the question.
      over: what is varied: "batch" or "length".
      size: of the question, along that.
      ways: what makes the batch fit, cheapest first; together: several changes at once, fastest first.
      ranks: whose figures they are, where fit chose among ranks_among, of which it tried ranks_tried; ways_ranks: with
        so many the ways fit.
    """
    fits: bool | None = None
    verdict: Verdict | None = None
    device_bytes: int | None = None
    device_interval_bytes: list[int] | None = None
    over: str | None = None
    size: int | None = None
    gpus: list[Card] = _list()
    gpu: Gpu | None = None
    training: FitPart | None = None
    inference: FitPart | None = None
    ways: list[Way] = _list()
    together: list[Together] = _list()
    ranks: int | None = None
    ranks_among: list[int] | None = None
    ranks_tried: list[int] | None = None
    ways_ranks: int | None = None

    __str__ = Answer.__str__


@dataclasses.dataclass(repr=False)
class Comparison(Answer):
    """Of compare: `delta` is head minus base.

    Attributes:
      measured: figures predicted and measured.
      verdict: the worst of every head.
    """
    base: Side = _dict()
    head: Side = _dict()
    delta: Delta = _dict()
    layers: list[ComparedLayer] = _list()
    operators: list[ComparedOperator] = _list()
    measured: list[MeasuredFigure] = _list()
    verdict: Verdict | None = None
    gpus: list[ComparedCard] = _list()

    __str__ = Answer.__str__


_OF_COMMAND = {"analyze": Report, "plan": Plan, "fit": Fit, "compare": Comparison}
_OURS = {"json", "screen", "arguments", "files", "picture", "code", "beside"}    # not of the program's JSON


def answer_of(answer: dict[str, Any], screen: str, arguments: list[str], files: object = None,
              picture: str = "") -> Answer:
    """The dataclass of one JSON answer, of the screen that shows it and of its picture.

    Raises Error with code "program-version" where the program and this package are not of one version."""
    try:
        made: Answer = _filled(_OF_COMMAND[answer["command"]], answer)
        if isinstance(made, Report):
            made.runs = [_run_of(r) for r in answer.get("runs") or []]
    except (KeyError, TypeError) as e:
        raise Error(f"the program's answer is not what this version of the package reads ({e}); "
                    "python -c 'import onnx_mem; print(onnx_mem.find_program())' says which program it is",
                    "program-version") from e
    made.screen, made.arguments, made.files, made.picture = screen, arguments, files, picture
    if isinstance(made, Comparison):
        made.model = made.base.get("model") or answer.get("model", {})
    return made


def _filled(cls: Any, source: dict[str, Any]) -> Any:
    names = {f.name for f in dataclasses.fields(cls)} - _OURS
    return cls(**{k: v for k, v in source.items() if k in names and v is not None}, json=source)


def _run_of(run: dict[str, Any]) -> Run:
    made: Run = _filled(Run, run)
    made.training = _filled(Training, run["training"]) if run.get("training") else None
    made.inference = _filled(Inference, run["inference"]) if run.get("inference") else None
    return made
