"""What transformers' own switch does for a budget, beside a plan: checkpoints of every n-th layer."""
from __future__ import annotations

import contextlib
import inspect
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from .._program import run_json

_STEPS = (1, 2, 3, 4, 6, 8)


@contextlib.contextmanager
def without_cache(model: Any) -> Iterator[Any]:
    """config.use_cache off, as where a plan is applied: a second run must not find the keys and values of the first."""
    configs = {id(c): c for c in (getattr(m, "config", None) for m in model.modules())
               if getattr(c, "use_cache", False) is True}
    for config in configs.values():
        config.use_cache = False
    try:
        yield
    finally:
        for config in configs.values():
            config.use_cache = True


def layers_of(model: Any) -> list[str]:
    """Paths of the layers that gradient_checkpointing_enable() switches, in its order; none for other models."""
    if not callable(getattr(model, "gradient_checkpointing_enable", None)):
        return []
    return [name for name, m in model.named_modules()
            if any(c.__name__ == "GradientCheckpointingLayer" for c in type(m).__mro__)]


def steps_of(model: Any) -> tuple[int, ...]:
    """Every how many layers this version can checkpoint."""
    enable = getattr(model, "activation_checkpointing_enable", None)
    return _STEPS if enable and "every_n_layers" in inspect.signature(enable).parameters else (1,)


def beside(model: Any, arguments: list[str], plan: Any, folder: str) -> str:
    """A sentence on the cheapest way of the switch that meets the plan's budget, or on the least that it reaches.
    `arguments`: of the plan that was made; the same step is enacted with the layers' checkpoints."""
    layers = layers_of(model)
    if not layers or not plan.fits or plan.budget_bytes is None or not plan.chosen_plan["segments"]:
        return ""
    line = "peak_bytes" if plan.json.get("budget_on") == "live" else "device_bytes"
    tried = [(n, _measured(arguments, layers[::n], folder)) for n in steps_of(model) if n == 1 or n < len(layers)]
    fitting = [(n, m) for n, m in tried if m[line] <= plan.budget_bytes]
    n, own = min(fitting, key=lambda x: x[1]["slowdown"]) if fitting else min(tried, key=lambda x: x[1][line])
    every = f", every_n_layers={n}" if n > 1 else ""
    what = "more time" if plan.json.get("cost_in") == "time" else "more compute"
    reported = (f'transformers: model.gradient_checkpointing_enable({{"use_reentrant": False}}{every}) takes '
            f"{own[line]:,} bytes for {own['slowdown']:.1%} {what}")
    chosen = plan.chosen_plan
    if not fitting:
        return reported + "; nothing of it meets the budget, which the plan does"
    return reported + f"; the plan {chosen[line]:,} bytes for {chosen['slowdown']:.1%}"


def _measured(arguments: list[str], modules: list[str], folder: str) -> dict[str, Any]:
    path = pathlib.Path(folder) / "layers.json"
    path.write_text(json.dumps({"segments": [{"modules": [name]} for name in modules]}))
    answer = run_json([*arguments, "--method", "none", "--plan", str(path)])
    return next(p for p in answer["plans"] if p.get("method") == "given")
