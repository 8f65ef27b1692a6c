"""The order in which packages are walked, and the packages that are drawn of what the walk finds.

    python draw.py walk INDEX NAMED...      INDEX, NAMED: as in 2026-11-29-fourth-exports/draw.py
    python draw.py pick FOUND               FOUND: as in 2026-11-30-exports/draw.py

The rule is that of 2026-11-30-exports/draw.py, whose functions it uses, with two differences: a new seed, and of the widely
used packages those too whose name or summary has a word of machine learning in a wider sense, or of one of its fields, since
few of those with a word of a network were left. Names in the index were looked at to choose the words.
"""
from __future__ import annotations

import importlib.util
import pathlib

SEED = 20261207
FIELDS = (r"machine.?learning|artificial|ai|ml|models?|networks?|vision|images?|audio|speech|nlp|natural language|llms?|generat\w+|"
          r"video|3d|molecul\w*|drug|cells?|genom\w+|single.cell|dna|music|voice|sound|train\w*|learning|bayesian|probabilistic|"
          r"forecast\w*|recogni\w+|detect\w+|classif\w+|translation|multimodal|point cloud|robot\w*|policy|gpu|cuda|tensor\w*|"
          r"differentia\w+|physics|simulation|weather|climate|earth|medical|radiology|patholog\w+|microscop\w+|represent\w+|"
          r"interpret\w+|explain\w+|optimi[sz]\w+")


def earlier():
    path = pathlib.Path(__file__).parent.parent / "2026-11-30-exports/draw.py"
    spec = importlib.util.spec_from_file_location("before", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SEED = SEED
    module.WORDS += "|" + FIELDS
    return module


if __name__ == "__main__":
    earlier().main()
