"""A model of transformers by its configuration alone: built on the meta device, with inputs of a batch and a length.
Nothing is downloaded."""
from __future__ import annotations

import copy
import json
import os
import pathlib
from typing import Any

from .errors import Error

PREFIX = "hf:"
_LENGTH = 512                          # where neither the caller nor the model says less
_BATCH = 2                             # of the example; the question has its own
_POSITIONS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length")
_HEADS = ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSequenceClassification",
          "AutoModelForImageClassification", "AutoModel")    # the first that knows a config without `architectures`
_PER_SAMPLE = ("ForSequenceClassification", "ForImageClassification", "ForMultipleChoice")


def is_config(x: object) -> bool:
    """An "hf:..." text, or an object as transformers.PretrainedConfig is one."""
    if isinstance(x, str):
        return x.startswith(PREFIX)
    return hasattr(x, "model_type") and hasattr(x, "to_dict") and not hasattr(x, "named_parameters")


def built(x: Any, length: int | None) -> tuple[Any, dict[str, Any]]:
    """(module on meta, its inputs) of a config.

    Raises:
      Error: "not-found" where no config is there; "bad-config" where it is none, or its code is not in transformers;
        "bad-argument" for a length that the model does not take.
    """
    import torch
    config = _config_of(x[len(PREFIX):]) if isinstance(x, str) else x
    config = _for_a_step(config)
    with torch.device("meta"):
        model = _model_of(config)
        return model, _inputs(model, config, length)


def _for_a_step(config: Any) -> Any:
    """A copy as a step of training has it: without a cache, and with the tokens that a tokenizer would set."""
    config = copy.deepcopy(config)
    if getattr(config, "use_cache", False):
        config.use_cache = False
    for name in ("pad_token_id", "decoder_start_token_id"):
        if getattr(config, name, None) is None:
            setattr(config, name, 0)
    return config


def _config_of(name: str) -> Any:
    path = pathlib.Path(name).expanduser()
    if path.is_dir():
        path = path / "config.json"
    if path.suffix == ".json" or path.is_file():
        return _loaded(path)
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError
    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        cached = None
    if isinstance(cached, str) and os.path.exists(cached):
        return _loaded(pathlib.Path(cached))
    raise Error(f"'{PREFIX}{name}': no such file or folder, and no config of that name is in the local cache; "
                f'nothing is downloaded\n  try: onnx_mem.analyze(transformers.AutoConfig.from_pretrained("{name}"))',
                "not-found")


def _loaded(path: pathlib.Path) -> Any:
    import transformers
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise Error(f"'{path}' is not JSON: {e}", "bad-config") from None
    kind = found.get("model_type") if isinstance(found, dict) else None
    if kind is None:
        raise Error(f"'{path}' is no config of a transformers model: it has no model_type", "bad-config")
    if kind not in transformers.CONFIG_MAPPING:
        raise Error(f"'{path}': model_type '{kind}' is not in transformers {transformers.__version__}; build the model "
                    "with its own code and hand it in with inputs\n"
                    "  try: onnx_mem.analyze(model, input_ids=ids)", "bad-config")
    return transformers.CONFIG_MAPPING[kind].from_dict(found)


def _model_of(config: Any) -> Any:
    """With the head that the config names; without one, that of the first task it is known for."""
    import transformers
    dtype = getattr(config, "dtype", None)
    options = {} if dtype is None else {"dtype": dtype}
    for name in getattr(config, "architectures", None) or ():
        kind = getattr(transformers, name, None)
        if kind is not None:
            return kind._from_config(config, **options)
    for name in sorted(_HEADS, key=lambda h: ("Seq2Seq" in h) != bool(getattr(config, "is_encoder_decoder", False))):
        kind = getattr(transformers, name)
        if type(config) in kind._model_mapping:
            return kind.from_config(config, **options)
    raise Error(f"transformers {transformers.__version__} has no model for {type(config).__name__}\n"
                "  try: onnx_mem.analyze(model, input_ids=ids)", "bad-config")


def _inputs(model: Any, config: Any, length: int | None) -> dict[str, Any]:
    import inspect

    import torch
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    accepted = inspect.signature(model.forward).parameters
    if model.main_input_name == "input_ids":
        most = next((n for n in (getattr(text, p, None) for p in _POSITIONS) if isinstance(n, int) and n > 0), None)
        if length is not None and (length < 1 or most is not None and length > most):
            raise Error(f"length={length}: the model takes 1 to {most or 'any'}", "bad-argument")
        length = length or min(_LENGTH, most or _LENGTH)
        made = {"input_ids": torch.zeros(_BATCH, length, dtype=torch.int64)}
    elif model.main_input_name == "pixel_values":
        if length is not None:
            raise Error(f"{type(model).__name__} reads images, which have no length", "bad-argument")
        side = getattr(config, "image_size", 224)
        sides = side if isinstance(side, (list, tuple)) else (side, side)
        made = {"pixel_values": torch.zeros(_BATCH, getattr(config, "num_channels", 3), *sides, dtype=model.dtype)}
    else:
        name = model.main_input_name
        raise Error(f"{type(model).__name__} reads {name}, for which there is no example here; hand the model in with "
                    f"its inputs\n  try: onnx_mem.analyze(model, {name}=x)", "bad-config")
    if "labels" in accepted:
        shape = (_BATCH,) if type(model).__name__.endswith(_PER_SAMPLE) or length is None else (_BATCH, length)
        made["labels"] = torch.zeros(shape, dtype=torch.int64)
    return made
