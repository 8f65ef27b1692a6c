"""checkpoint() and restore(): a plan on a live model, without code to copy."""
from __future__ import annotations

import json
import os
import pathlib
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import Error, reported
from ..reports import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._types import BatchDim, GivenPlan

M = TypeVar("M")


@reported
def checkpoint(model: M, plan: GivenPlan | int, *args: object, kwargs: Mapping[str, object] | None = None,
               batch_dim: BatchDim = 0, **options: Any) -> M:
    """Puts the segments of a plan in torch.utils.checkpoint, in place.

        onnx_mem.checkpoint(model, "8GiB", x, batch=64)           # a plan is made first
        onnx_mem.checkpoint(model, onnx_mem.plan("model.onnx", budget="8GiB"))
        onnx_mem.checkpoint(model, "plan.json")                   # of `onnx-mem plan -o plan.json` or --emit json
        onnx_mem.checkpoint(model, [["layer1"], ["layer2.0", "layer2.1"]])

    Parameters, buffers, hooks and names stay as they are; copies, pickles, DistributedDataParallel, FSDP2,
    torch.compile and exports of the model work as before. Apply it before wrapping, compiling or sharding.

    Args:
      model: the torch.nn.Module that was analysed; wrappers around it are looked through.
      plan: a Plan, a file or dict of one, a list of lists of modules' names, or a budget ("8GiB", or bytes).
      args, kwargs, batch_dim, options: with a budget, as of plan().

    Returns:
      The model.

    Raises:
      Error: "no-plan" where none meets the budget; "cannot-apply" where it is another model, holds a plan already, or a
        segment cannot be wrapped from outside.
    """
    if _is_budget(plan):
        from ..commands import plan as make
        if not args and not kwargs:
            raise Error("a budget wants example inputs: checkpoint(model, \"8GiB\", x)", "bad-argument")
        plan = make(model, *args, budget=f"{plan}B" if isinstance(plan, int) else plan, kwargs=kwargs,
                    batch_dim=batch_dim, **options)
    elif args or kwargs or options:
        raise Error("example inputs and options are for a budget; a plan has its own", "bad-argument")
    return apply_entries(model, *_entries_of(plan))


def restore(model: M) -> M:
    """Takes a plan off again. Returns the model."""
    from . import applied
    try:
        return applied.restore(model)
    except ValueError as e:
        raise Error(str(e), "cannot-restore") from None


def apply_entries(model: Any, entries: list[dict[str, Any]], export_wrapper: str, settings: dict[str, str]) -> Any:
    from . import applied
    try:
        return applied.apply(model, entries, export_wrapper, settings)
    except ValueError as e:
        raise Error(str(e), "cannot-apply") from None


def _is_budget(plan: Any) -> bool:
    return isinstance(plan, int) or isinstance(plan, str) and not plan.endswith(".json") and not os.path.exists(plan)


def _entries_of(plan: Any) -> tuple[list[dict[str, Any]], str, dict[str, str]]:
    """(entries as apply() takes them, prefix of the export, settings of the environment)."""
    if isinstance(plan, Plan):
        return _entries_of_answer(plan)
    if isinstance(plan, (str, os.PathLike)):
        plan = _document(pathlib.Path(plan))
    settings: dict[str, str] = {}
    wrapper = ""
    if isinstance(plan, dict):
        chosen = _chosen_of(plan)
        plan, settings, wrapper = chosen["segments"], chosen.get("settings") or {}, chosen.get("export_wrapper", "")
    segments = [s if isinstance(s, dict) else {"modules": [s] if isinstance(s, str) else list(s)} for s in plan]
    for segment in segments:
        if not segment.get("modules"):
            raise Error(f"a segment of the plan names operators ({', '.join(segment.get('nodes', [])[:2])} ...), not "
                        "modules; edit forward to put them in torch.utils.checkpoint.checkpoint", "cannot-apply")
    return segments, wrapper, settings


def _document(path: pathlib.Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise Error(f"'{path}' is not JSON: {e}", "bad-plan") from None
    if not isinstance(found, dict) or not ("plans" in found or "segments" in found):
        raise Error(f"'{path}' holds no plan; onnx-mem plan MODEL -o {path.name} writes one", "bad-plan")
    return found


def _chosen_of(document: dict[str, Any]) -> dict[str, Any]:
    if "plans" not in document:
        return document
    if document.get("chosen") is None:
        raise Error("the report chose no plan", "no-plan")
    return next(p for p in document["plans"] if p["id"] == document["chosen"])


def _entries_of_answer(answer: Plan) -> tuple[list[dict[str, Any]], str, dict[str, str]]:
    chosen = answer.chosen_plan
    if chosen is None:
        raise Error(f"no plan meets the budget:\n{answer}", "no-plan")
    if not answer.code:
        return _entries_of(chosen)
    reported: dict[str, Any] = {}
    exec(compile(answer.code, "<plan>", "exec"), reported)    # the program's own output
    if len(reported["PLAN"]) != len(chosen["segments"]):
        why = [line for line in answer.code.splitlines() if line.startswith("# Not applied")]
        raise Error("\n".join(why), "cannot-apply")
    return reported["PLAN"], reported["EXPORT_WRAPPER"], reported["SETTINGS"]
