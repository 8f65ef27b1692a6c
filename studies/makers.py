"""Lists of studies: models.toml, a row for each model.

    name = {class = "package.Class", args = [...], options = {...}, inputs = ["image 64", "ids 32"], kwargs = {...}}
    name = {maker = "text", args = [...], options = {...}}      a function here or in models.py beside the list
    name = {make = "translator"}                                the same, without arguments

Inputs have the batch BATCH: image SIZE [CHANNELS], numbers SIZE..., ids LENGTH [MOST], steps, zeros."""
from __future__ import annotations

import importlib
import importlib.util
import pathlib

import tomllib
import torch

BATCH = 2
STEPS = torch.zeros(BATCH)
SMALL = dict(
    hidden_size=64, d_model=64, n_embd=64, n_layer=2, n_head=4, num_hidden_layers=2, num_layers=2, encoder_layers=2,
    decoder_layers=2, num_attention_heads=4, num_key_value_heads=2, encoder_attention_heads=4,
    decoder_attention_heads=4, intermediate_size=128, encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=200,
    max_position_embeddings=64, n_positions=64, embedding_size=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def image(size, channels=3, batch=BATCH):
    return torch.randn(batch, channels, size, size)


def numbers(*shape):
    return torch.randn(BATCH, *shape)


def ids(length, most=100):
    return torch.randint(0, most, (BATCH, length))


def of(path, *args, **kwargs):
    """An instance of the class "package.module.Name"."""
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


class Call(torch.nn.Module):
    """A method of a module as its forward."""

    def __init__(self, inner, method):
        super().__init__()
        self.inner, self.method = inner, method

    def forward(self, *args):
        return getattr(self.inner, self.method)(*args)


def timm_model(name, size=224):
    return lambda: (of("timm.create_model", name), (image(size),))


def vision(name, size=224, **kwargs):
    return lambda: (of("torchvision.models." + name, **kwargs), (image(size),))


def text(name, config, **more):
    """A model of transformers of token numbers, as small as its configuration can be."""
    def make():
        import transformers
        kind = getattr(transformers, config)
        known = kind()
        wanted = {key: value for key, value in SMALL.items() if hasattr(known, key)}
        made = kind(**{**wanted, **more})
        made.use_cache = False
        return getattr(transformers, name)(made), (ids(32),)
    return make


def picture(name, config, size=64, **more):
    """A model of transformers of images, as small as its configuration is made here."""
    def make():
        import transformers
        return getattr(transformers, name)(getattr(transformers, config)(image_size=size, **more)), (image(size),)
    return make


def video(name, size=224):
    return lambda: (of("torchvision.models.video." + name), (numbers(3, 16, size, size),))


INPUTS = {"image": image, "numbers": numbers, "ids": ids, "steps": lambda: STEPS,
          "zeros": lambda: torch.zeros(BATCH, dtype=torch.int64)}


def value(given):
    """A value of TOML as Python's: an array is a tuple; {list = [...]} and {none = true} are what TOML lacks."""
    if isinstance(given, list):
        return tuple(map(value, given))
    if isinstance(given, dict):
        if given.keys() == {"list"}:
            return [value(one) for one in given["list"]]
        return None if given == {"none": True} else {key: value(one) for key, one in given.items()}
    return given


def made_by(entry, functions):
    """An entry of a list -> a function that returns (model, args, kwargs)."""
    if "make" in entry:
        return functions[entry["make"]]
    args, options = value(entry.get("args", [])), value(entry.get("options", {}))
    if "maker" in entry:
        return functions[entry["maker"]](*args, **options)

    def make():
        words = [one.split() for one in entry["inputs"]]
        inputs = tuple(INPUTS[word](*map(int, numbers)) for word, *numbers in words)
        return of(entry["class"], *args, **options), inputs, value(entry.get("kwargs", {}))
    return make


def module_of(path):
    spec = importlib.util.spec_from_file_location("listed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(study):
    """The models of a study, by package and name: models.toml of its folder, with the functions of models.py beside it.
    `study`: the name of a folder here, or the path of one."""
    folder = pathlib.Path(study) if "/" in str(study) else pathlib.Path(__file__).parent / study
    functions = dict(globals())
    if (folder / "models.py").exists():
        functions |= vars(module_of(folder / "models.py"))
    entries = tomllib.loads((folder / "models.toml").read_text())
    return {package: {name: made_by(entry, functions) for name, entry in named.items()}
            for package, named in entries.items()}
