"""The objects inside an answer, with the names of the JSON contract. tests/test_parts.py holds them against what the
program answers."""
from __future__ import annotations

from typing import TypedDict

from ._types import Verdict


class Peak(TypedDict):
    """Where the most is alive. step counts from 0; node is None where no node of the file stands for the operator."""
    phase: str
    step: int
    node: str | None
    module: str
    op: str


class ModelFacts(TypedDict, total=False):
    """What was analyzed."""
    path: str
    producer: str
    opset: dict[str, int]
    nodes: int
    parameters: int
    parameter_bytes: int
    buffer_bytes: int


class _Diagnostic(TypedDict):
    code: str
    severity: str
    count: int
    message: str
    details: list[str]


class Diagnostic(_Diagnostic, total=False):
    """What was noticed about a file. bytes: how much of the peak it concerns, where that is known."""
    bytes: int


class Flops(TypedDict):
    """Of one run; a multiply-add counts 2 in forward and backward."""
    forward: int
    backward: int
    macs: int


class Bound(TypedDict):
    """Of a step's time, in nanoseconds."""
    compute: int
    bandwidth: int
    launch: int


class Clock(TypedDict):
    """The time of one step, estimated, in nanoseconds."""
    forward_ns: int
    backward_ns: int
    recompute_ns: int
    optimizer_ns: int
    step_ns: int
    measured_ns: int
    bound: str
    bound_by: Bound


class Time(TypedDict):
    """Estimates on a card: the one of the question, else the reference card."""
    card: str
    card_named: bool
    assumptions: list[str]
    training: Clock | None
    inference: Clock | None


class Scaling(TypedDict):
    """Bytes as a function of the batch, between two batches."""
    fixed_bytes: int
    bytes_per_sample: int
    exact: bool
    from_batch: int
    to_batch: int


class Need(TypedDict):
    """What a run needs of a card."""
    verdict: Verdict
    device_bytes: int
    device_interval_bytes: list[int]


class _GpuRun(TypedDict):
    batch: int


class GpuRun(_GpuRun, total=False):
    """One batch on one card."""
    training: Need
    inference: Need


class Gpu(TypedDict):
    """A card. name and memory_bytes are None where only gpu_memory was given."""
    name: str | None
    memory_bytes: int | None
    usable_bytes: int


class _Card(Gpu):
    verdict: Verdict


class Card(_Card, total=False):
    """A card of analyze and fit, and what the first batch needs of it; runs: where there are several batches."""
    training: Need
    inference: Need
    runs: list[GpuRun]


class PlanCard(_Card):
    """A card of plan: the step as it is, and with the chosen plan."""
    as_it_is: Need
    planned: Need


class Needs(TypedDict, total=False):
    training: Need
    inference: Need


class ComparedCard(_Card):
    """A card of compare."""
    base: Needs
    heads: list[Needs]


class Saving(TypedDict):
    """A change that needs less, measured: flags are those of the command line."""
    change: str
    device_bytes: int
    saves_bytes: int
    peak_bytes: int
    extra_compute: float
    price: str
    flags: list[str]
    cost: str


class _OfRanks(Saving, total=False):
    """Of a checkpoint plan for ranks: extra time of the step without communication, what prints the plan."""
    extra_time: float | None
    command: str | None


class Way(_OfRanks):
    """A way to make the batch fit."""
    largest_batch: int | None


class Together(TypedDict):
    """Several changes chosen together, for the same samples per step."""
    change: str
    device_bytes: int
    peak_bytes: int
    ns_per_sample: int
    numbers: str
    batch_norm_sees: int | None
    price: str
    flags: list[str]
    cost: str


class Layer(TypedDict, total=False):
    """A row of by="layer"."""
    module: str
    parameters: int
    parameter_bytes: int
    peak_bytes: int
    saved_bytes: int
    flops: int
    macs: int
    time_ns: int
    bound: str
    model: str


class FileTensor(TypedDict):
    """A tensor of the file."""
    name: str
    dtype: str
    shape: list[int]
    role: str
    bytes: int
    producer: str | None
    module: str
    file_name: str | None


class LiveTensor(TypedDict):
    """A buffer that is alive at the peak: who made it, who keeps it, until when."""
    name: str
    category: str
    bytes: int
    dtype: str
    shape: list[int]
    module: str
    made_by: str
    kept_by: str
    begin: int
    end: int
    until: str
    op: str
    file_name: str | None


class LargestSize(TypedDict, total=False):
    """The largest size along `over` within the budget, with the chosen plan and without one. Empty without `over`."""
    over: str
    size: int
    without_plan: int


class Baseline(TypedDict):
    """The step without a plan."""
    peak_bytes: int
    first_step_peak_bytes: int
    device_bytes: int
    forward_flops: int
    backward_flops: int
    cpu_ns: int
    gpu_ns: int


class _Segment(TypedDict):
    modules: list[str]
    nodes: list[str]
    saves_bytes: int
    recompute_flops: int


class HostTensors(TypedDict):
    """What of a segment waits in host memory: results of calls, as in keep, and what the segment starts from. when:
    "overlapped" or "waiting"."""
    when: str
    inputs: bool
    calls: dict[str, list[int]]


class Segment(_Segment, total=False):
    """Modules that run under one torch.utils.checkpoint call. keep: operators; in a plan of calls, of each kept call
    the numbers of the results that are kept, and skip: the calls that do not run again. offload: a word where all that
    the modules save waits on the host and nothing runs again."""
    keep: list[str] | dict[str, list[int]]
    skip: list[str]
    offload: str | HostTensors


class PlanStage(TypedDict):
    """A stage of a pipeline: what its rank takes as it is, and with the chosen plan."""
    rank: int
    begins_at: str
    segments: int
    peak_bytes: int
    device_bytes: int
    peak_with_plan_bytes: int
    device_with_plan_bytes: int


class PlanRow(TypedDict):
    """A plan of the trade-off curve."""
    id: int
    method: str
    label: str
    granularity: str
    peak_bytes: int
    first_step_peak_bytes: int
    allocated_peak_bytes: int
    device_bytes: int
    recompute_flops: int
    slowdown: float
    recompute_ns: int
    offload_ns: int
    host_bytes: int
    time_slowdown: float
    cpu_ns: int
    gpu_ns: int
    wall_slowdown: float
    dominated: bool
    settings: dict[str, str]
    segments: list[Segment]


class _FitPart(TypedDict):
    fits: bool
    verdict: Verdict
    device_bytes: int
    device_interval_bytes: list[int]
    safe_batch: int | None
    largest_batch: int | None
    impossible_from: int | None
    at_least: bool
    safe_batch_high_bytes: int | None
    next_safe_batch_high_bytes: int | None
    largest_batch_device_bytes: int | None
    next_batch_device_bytes: int | None
    last_possible_batch_low_bytes: int | None
    impossible_from_low_bytes: int | None


class FitPart(_FitPart, total=False):
    """The batches of training, or of inference. fewest_ranks, safe_ranks: where the step is sharded."""
    refused_beyond: bool
    fewest_ranks: int | None
    safe_ranks: int | None


class Side(TypedDict, total=False):
    """A side of a comparison. runs: as in Report.json."""
    model: ModelFacts
    source: str
    bindings: dict[str, int | None]
    assumptions: dict[str, str]
    runs: list[dict[str, object]]
    scaling: Scaling | None


class _DeltaPart(TypedDict):
    peak_bytes: int
    allocated_peak_bytes: int
    reserved_peak_bytes: int
    device_bytes: int
    breakdown: dict[str, int]


class DeltaPart(_DeltaPart, total=False):
    """Head minus base. first_step_peak_bytes: of training."""
    first_step_peak_bytes: int


class DeltaFlops(TypedDict):
    forward: int
    backward: int


class Delta(TypedDict, total=False):
    """Head minus base; None where a side has no such run."""
    training: DeltaPart | None
    inference: DeltaPart | None
    flops: DeltaFlops


class _ComparedLayer(TypedDict):
    module: str
    base_bytes: int
    head_bytes: int
    delta_bytes: int
    presence: str


class ComparedLayer(_ComparedLayer, total=False):
    """A layer on both sides. base_module: where it has another name there."""
    base_module: str


class ComparedOperator(TypedDict):
    """Operators that one side has and the other has not."""
    op: str
    presence: str
    count: int
    bytes: int


class MeasuredFigure(TypedDict):
    """A figure predicted, and measured by the run."""
    figure: str
    predicted_bytes: int
    measured_bytes: int
    difference_bytes: int
    error: float
    source: str
