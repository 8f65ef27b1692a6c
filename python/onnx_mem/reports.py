"""Answers of the program as dataclasses. Fields have the names of the JSON contract; what has no field is in
`.json`."""
from __future__ import annotations

import dataclasses
import html
from typing import Any

from ._figures import FitFigures, InferenceFigures, TrainingFigures


@dataclasses.dataclass
class Training(TrainingFigures):
    """One training step. null in JSON is None."""
    verdict: str | None = None  # "fits", "may-fit" or "does-not-fit": the worst of all cards; None: no card was named
    peak: dict[str, Any] = dataclasses.field(default_factory=dict)
    breakdown: dict[str, int] = dataclasses.field(default_factory=dict)
    json: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass
class Inference(InferenceFigures):
    """One forward in evaluation mode under no_grad."""
    verdict: str | None = None
    peak: dict[str, Any] = dataclasses.field(default_factory=dict)
    breakdown: dict[str, int] = dataclasses.field(default_factory=dict)
    json: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass
class Run:
    """One batch."""
    batch: int | None = None
    training: Training | None = None
    inference: Inference | None = None
    flops: dict[str, Any] | None = None
    json: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass
class Answer:
    """What every command answers with. str() is the command's own screen of this answer; notebooks show it too.

    Attributes:
      command: "analyze", "plan", "fit" or "compare".
      model: {"path", "nodes", "parameters", ...}; of compare: that of the first model.
      source: "record" where the file carries one that was used, "graph" else; None where the program does not say.
      json: the whole answer as the program gave it.
    """
    command: str = ""
    model: dict[str, Any] = dataclasses.field(default_factory=dict)
    source: str | None = None
    bindings: dict[str, Any] = dataclasses.field(default_factory=dict)
    assumptions: dict[str, Any] = dataclasses.field(default_factory=dict)
    diagnostics: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    json: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    arguments: list[str] = dataclasses.field(default_factory=list, repr=False)
    screen: str = dataclasses.field(default="", repr=False)
    # Keeps what was written for the answer.
    files: Any = dataclasses.field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.screen

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclasses.dataclass
class Report(Answer):
    """Of analyze. `training` and `inference` are those of the first batch, on the first of several cards.

    Attributes:
      verdict: of all batches on all cards, and of the budget: the worst; None without a limit.
      gpus: a card each: {"name", "memory_bytes", "usable_bytes", "verdict", "training", "inference"}.
    """
    runs: list[Run] = dataclasses.field(default_factory=list)
    verdict: str | None = None
    gpus: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    scaling: dict[str, Any] | None = None

    @property
    def training(self) -> Training | None:
        return self.runs[0].training if self.runs else None

    @property
    def inference(self) -> Inference | None:
        return self.runs[0].inference if self.runs else None

    __str__ = Answer.__str__


@dataclasses.dataclass
class Plan(Answer):
    """Of plan. `chosen` is the id of the plan that meets the budget, None where none does (status "infeasible").

    Attributes:
      code: the Python of `--emit pytorch`, which applies it without this package; "" without a chosen plan.
      beside: for a model of transformers with a budget, what its own switch takes.
    """
    status: str | None = None
    verdict: str | None = None  # of the chosen plan: the worst of its budget and of all cards
    gpus: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # each with the step "as_it_is" and "planned"
    budget_bytes: int | None = None
    minimum_bytes: int | None = None
    baseline: dict[str, Any] = dataclasses.field(default_factory=dict)
    chosen: int | None = None
    plans: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    code: str = dataclasses.field(default="", repr=False)
    beside: str = ""

    def apply(self, model: Any) -> Any:
        """Puts the chosen plan on the model, in place, and returns it: checkpoint(model, self)."""
        from ._checkpoint.planned import checkpoint
        return checkpoint(model, self)

    @property
    def fits(self) -> bool:
        return self.chosen is not None

    @property
    def chosen_plan(self) -> dict[str, Any] | None:
        """The entry of `plans` that was chosen: segments, settings, peak_bytes, slowdown ..."""
        return next((p for p in self.plans if p.get("id") == self.chosen), None)

    @property
    def settings(self) -> dict[str, str]:
        """What the chosen plan needs of the environment: {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, or {}."""
        return (self.chosen_plan or {}).get("settings") or {}

    def __str__(self) -> str:
        return Answer.__str__(self) + (f"\n  {self.beside}\n" if self.beside else "")


@dataclasses.dataclass
class Fit(FitFigures, Answer):
    """Of fit. Batches are those of training where it was analyzed; `training` and `inference` have each."""
    fits: bool | None = None
    verdict: str | None = None  # of the batch of the question
    device_bytes: int | None = None
    device_interval_bytes: list[int] | None = None
    over: str | None = None  # what is varied: "batch"
    gpus: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    gpu: dict[str, Any] = dataclasses.field(default_factory=dict)
    training: dict[str, Any] | None = None
    inference: dict[str, Any] | None = None
    ways: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    __str__ = Answer.__str__


@dataclasses.dataclass
class Comparison(Answer):
    """Of compare: `delta` is head minus base."""
    base: dict[str, Any] = dataclasses.field(default_factory=dict)
    head: dict[str, Any] = dataclasses.field(default_factory=dict)
    delta: dict[str, Any] = dataclasses.field(default_factory=dict)
    layers: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    operators: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    measured: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # figures predicted and measured
    verdict: str | None = None  # the worst of every head
    gpus: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    __str__ = Answer.__str__


_OF_COMMAND = {"analyze": Report, "plan": Plan, "fit": Fit, "compare": Comparison}


def answer_of(answer: dict[str, Any], screen: str, arguments: list[str], files: Any = None) -> Answer:
    """The dataclass of one JSON answer and of the screen that shows it."""
    cls = _OF_COMMAND[answer["command"]]
    made = _filled(cls, answer)
    made.screen, made.arguments, made.files = screen, arguments, files
    if isinstance(made, Report):
        made.runs = [_run_of(r) for r in answer.get("runs") or []]
    if isinstance(made, Comparison):
        made.model = made.base.get("model") or answer.get("model", {})
    return made


def _filled(cls: Any, source: dict[str, Any]) -> Any:
    names = {f.name for f in dataclasses.fields(cls)} - {"json", "screen", "arguments", "files"}
    return cls(**{k: v for k, v in source.items() if k in names and v is not None}, json=source)


def _run_of(run: dict[str, Any]) -> Run:
    made = _filled(Run, run)
    made.training = _filled(Training, run["training"]) if run.get("training") else None
    made.inference = _filled(Inference, run["inference"]) if run.get("inference") else None
    return made
