"""onnx-mem: memory of training and inference, before running them.

    onnx_mem.export(model, (x,), "model.onnx")          # the graph, and a record of what the framework runs
    onnx_mem.analyze("model.onnx", batch=64)            # or: analyze(model, x, batch=64)
    onnx_mem.measure(model, (x,), batch=64)             # the model's own code, counted on tensors without data
    onnx_mem.checkpoint(model, "4GiB", x, batch=64)     # a plan within the budget, on the model; restore(model) ends it

A record is made by running forward on tensors without data: operators in order, where Python releases each value,
parameters, buffers, sizes as functions of the batch, for evaluation and for training. docs/reference/record-format.md has the format.
It needs torch; analyze, plan, fit and compare of files do not. Errors are onnx_mem.Error with a `code`.
"""
from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .errors import CannotRecord, Error, reported

if TYPE_CHECKING:  # _signatures.pyi has every option of the command line as a keyword, and wants no torch
    from ._measure.measured import Measured as Measured
    from ._program import find_program as find_program
    from ._record.record import Record as Record
    from ._record.verified import Verified as Verified
    from ._signatures import analyze as analyze
    from ._signatures import checkpoint as checkpoint
    from ._signatures import compare as compare
    from ._signatures import export as export
    from ._signatures import fit as fit
    from ._signatures import measure as measure
    from ._signatures import plan as plan
    from ._signatures import record as record
    from ._signatures import restore as restore
    from ._signatures import verify as verify
    from .metadata import read_record as read_record
    from .reports import Comparison as Comparison
    from .reports import Fit as Fit
    from .reports import Plan as Plan
    from .reports import Report as Report

__version__ = "0.1.0"
_HOME = {
    "analyze": ".commands", "plan": ".commands", "fit": ".commands", "compare": ".commands",
    "Report": ".reports", "Plan": ".reports", "Fit": ".reports", "Comparison": ".reports",
    "export": ".exporting", "measure": "._measure.step", "Measured": "._measure.measured",
    "record": "._record.recorder", "Record": "._record.record", "verify": ".exporting", "Verified": "._record.verified",
    "checkpoint": "._checkpoint.planned", "restore": "._checkpoint.planned",
    "read_record": ".metadata", "find_program": "._program",
}
__all__ = ["CannotRecord", "Error", "__version__", *_HOME]


if not TYPE_CHECKING:  # for which every name is above
    def __getattr__(name):
        """torch is imported by what needs it only."""
        if name not in _HOME:
            raise AttributeError(f"module 'onnx_mem' has no attribute '{name}'", name=name, obj=sys.modules[__name__])
        value = getattr(_imported(_HOME[name]), name)
        globals()[name] = value
        return value


@reported
def _imported(home: str) -> Any:
    return importlib.import_module(home, __name__)


def __dir__() -> list[str]:
    return sorted(__all__)
