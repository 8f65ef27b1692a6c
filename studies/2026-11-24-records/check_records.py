"""Scores a blind list of records (models.toml beside this, or another study's): each model recorded at its batch of 2,
the program asked at 7, and held against the model's own code.

    python studies/2026-11-24-records/check_records.py RESULT.json [STUDY] [PACKAGE/NAME ...]

RESULT.json has per model the CPU seconds of recording, the bytes of the record, rows of (figure, program, model) for Adam,
momentum and inference, the largest relative difference, what the program had no rule for, and whether verify(), which
asks the program for the bytes alive at each operator, finds no difference. Models that it has already are not run again.
"""
from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
import time
import traceback
import warnings

import torch

import onnx_mem
from check_models import compared
from makers import listed

ASKED = 7


def scored(make) -> dict:
    torch.manual_seed(0)
    model, args = make()[:2]
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.eager")
        onnx_mem.export(model, args, path)
        found = {"record_s": round(time.process_time() - begin, 1), "bytes": os.path.getsize(path)}
        given = dict(args=args, kwargs={}, batch=ASKED, batch_dim=0, precision=None)
        rows, found["assumed"] = compared(os.environ["ONNX_MEM_PROGRAM"], path, model, given)
        found["rows"] = [list(row) for row in rows]
        found["worst"] = max(abs(ours - measured) / max(measured, 1) for _, ours, measured in rows if measured is not None)
        told = onnx_mem.verify(path, model, args, batch=ASKED)
        found["verify"] = "the same" if told.same else str(told).splitlines()[-1]
    return found


def main():
    warnings.simplefilter("ignore")
    path, *names = sys.argv[1:]
    study = names.pop(0) if names and "/" not in names[0] else "2026-11-24-records"
    results = json.loads(pathlib.Path(path).read_text()) if os.path.exists(path) else {}
    for package, models in listed(study).items():
        for name, make in models.items():
            key = f"{package}/{name}"
            if key not in names if names else key in results:
                continue
            try:
                results[key] = scored(make)
            except Exception as error:  # a model that cannot be recorded is a result too
                traceback.print_exc()
                results[key] = {"error": f"{type(error).__name__}: {error}"[:300]}
            print(key, {k: v for k, v in results[key].items() if k != "rows"}, flush=True)
            pathlib.Path(path).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
