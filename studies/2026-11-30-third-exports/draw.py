"""The order in which packages are walked, and the packages that are drawn of what the walk finds.

    python draw.py walk INDEX NAMED...      INDEX, NAMED: as in 2026-11-29-fourth-exports/draw.py; of a list's
                                            comments only what it installs for its models
    python draw.py pick FOUND               FOUND: as in 2026-11-30-exports/draw.py

The rule is that of 2026-11-30-second-exports/draw.py, whose functions it uses, with these differences: a new seed; of the widely
used packages those too whose name or summary has a word of MORE; and a name that only comments of an earlier list have
is free, since nothing of such a package was exported, recorded or measured: they name what was not drawn or passed over.
"""
from __future__ import annotations

import importlib.util
import pathlib

SEED = 20261208
MORE = (r"signals?|eeg|ecg|brain|neuro\w*|chem\w*|materials?|crystal\w*|scien\w+|geospatial|satellite|remote sensing|hyperspectral|"
        r"graphs?|sequences?|recurrent|convolution\w*|survival|causal\w*|recommend\w*|rankings?|retrieval|embeddings?|encod\w+|"
        r"compression|denois\w+|enhance\w+|restor\w+|super.?resolution|upscal\w+|matting|inpaint\w*|depth|optical flow|track\w+|"
        r"faces?|facial|poses?|hands?|gestures?|handwrit\w+|captions?|document|layout|licen[cs]e plate|anomal\w+|outliers?|"
        r"equivarian\w+|spherical|wavelets?|spectral|fourier|operators?|pde|physics.informed|surrogate|emulat\w+|fluid|"
        r"agents?|actors?|q-learning|imitation|world models?|planning|games?|chess|protein\w*|antibod\w*|rna|mass spec\w*|"
        r"peptid\w*|pathology|mri|ct|x-ray|segment\w*|registration|phonem\w*|diari[sz]ation|lip|talking|singing|midi|beat|pitch|"
        r"backbones?|layers?|modules?|architectures?|foundation|pretrain\w*|kan|mamba|state.space|ssm|moe|mixture|experts?")


def earlier():
    path = pathlib.Path(__file__).parent.parent / "2026-11-30-second-exports/draw.py"
    spec = importlib.util.spec_from_file_location("second", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SEED = SEED
    module.FIELDS += "|" + MORE
    return module.earlier()


if __name__ == "__main__":
    earlier().main()
