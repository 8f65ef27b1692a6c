"""--base-bits beside bitsandbytes' own layers.

    python studies/2026-11-23-adapters/check_packed.py [NAME ...]

Needs bitsandbytes, peft and transformers; no GPU. Models are those of check_lora.py. Their linear layers but the head
become Linear4bit or Linear8bitLt, PEFT adds its adapters, and the step of that is measured on tensors without data. The
library's operators run as its Python backends have them: what they allocate is counted, what only their kernels know is
not. Asked: --base-bits with --lora of the record of the model as it was. Rows: what the program says less what was
measured, as in check_lora.py.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import unittest.mock
import warnings

import torch
from check_lora import ASKED, DROPOUT, MODELS, RANK

import onnx_mem
from check_models import FIGURES, asked, difference
from onnx_mem._fake.inputs import input_names
from onnx_mem._fake.tensors import DEVICE, batch_of, fake_cuda, resized, weightless
from onnx_mem._measure.step import _vocabulary, run_step

BITS = {"4": {}, "4-double": {"compress_statistics": True}, "8": {}}
THRESHOLD = 6.0                 # BitsAndBytesConfig.llm_int8_threshold


# -- operators as the Python half of the CUDA and default backends has them ---------------------------------------------
def _int8_vectorwise_quant(A, threshold=0.0):
    row_stats = torch.empty(A.numel() // A.shape[-1], device=A.device, dtype=torch.float32)
    out_row = torch.empty(A.shape, device=A.device, dtype=torch.int8)
    outlier_cols = None
    if threshold > 0.0:
        outliers = A.abs() >= threshold     # noqa: F841  (alive until the kernel has run)
        outlier_cols = torch.empty(0, device=A.device, dtype=torch.int64)
    return out_row, row_stats, outlier_cols


def _int8_scaled_mm(A, B, row_stats, col_stats, bias=None, dtype=None):
    out_i32 = torch.empty((*A.shape[:-1], B.shape[0]), device=A.device, dtype=torch.int32)
    out = torch.empty_like(out_i32, dtype=torch.float16)
    if bias is not None and bias.dtype != torch.float16:
        out.add_(bias)
    return out.to(dtype or torch.float16)


def _int8_mixed_scaled_mm(A, CA, CB, SCA, SCB, outlier_cols=None, bias=None):
    subA = torch.empty(0, device=A.device, dtype=A.dtype)
    return _int8_scaled_mm(CA, CB, SCA, SCB, bias=bias, dtype=A.dtype), subA


@contextlib.contextmanager
def operators():
    """torch.ops.bitsandbytes with Python in place of what has a kernel only."""
    from bitsandbytes.backends.default.ops import _gemm_4bit_default_impl
    space = torch.ops.bitsandbytes
    own = {"gemm_4bit": _gemm_4bit_default_impl, "int8_vectorwise_quant": _int8_vectorwise_quant,
           "int8_scaled_mm": _int8_scaled_mm, "int8_mixed_scaled_mm": _int8_mixed_scaled_mm}
    packets = {name: getattr(space, name) for name in own}

    class Packet:
        def __init__(self, function):
            self.default = function

        def __call__(self, *args, **kwargs):
            return self.default(*args, **kwargs)
    for name, function in own.items():
        setattr(space, name, Packet(function))
    try:
        yield
    finally:
        for name, packet in packets.items():
            setattr(space, name, packet)


# -- layers ------------------------------------------------------------------------------------------------------------
def bare(kind, layer, **attributes):
    """A layer of `kind` without its constructor, which makes a weight first."""
    made = kind.__new__(kind)
    torch.nn.Module.__init__(made)
    attributes.update(in_features=layer.in_features, out_features=layer.out_features)
    for name, value in attributes.items():
        setattr(made, name, value)
    made.bias = layer.bias
    return made


def see(layer, *stored):
    """As buffers, so that those which no operator touches are counted too."""
    for i, t in enumerate(stored):
        layer.register_buffer(f"stored{i}", t)


def parameter(data, **attributes):
    """What their Params4bit and Int8Params hold; a fake tensor cannot be of their class."""
    made = torch.nn.Parameter(data, requires_grad=False)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def four_bit(layer, compute, compress_statistics=False):
    import bitsandbytes as bnb
    n, k = layer.weight.shape
    blocks = -(-n * k // 64)
    made = bare(bnb.nn.Linear4bit, layer, compute_dtype=compute, compute_type_is_set=compute is not None,
                quant_storage=torch.uint8, support_avx512bf16_for_cpu=False)

    def new(shape, dtype=torch.float32):
        return torch.empty(shape, dtype=dtype, device=DEVICE)
    state = bnb.functional.QuantState(absmax=new((blocks,)), shape=(n, k), code=new((16,)), blocksize=64,
                                      quant_type="nf4", dtype=layer.weight.dtype)
    if compress_statistics:
        state = bnb.functional.QuantState(
            absmax=new((blocks,), torch.uint8), shape=(n, k), code=new((16,)), blocksize=64, quant_type="nf4",
            dtype=layer.weight.dtype, offset=new(()),
            state2=bnb.functional.QuantState(absmax=new((-(-blocks // 256),)), code=new((256,)), blocksize=256,
                                             dtype=torch.float32))
    made.weight = parameter(new(((n * k + 1) // 2, 1), torch.uint8), quant_state=state, quant_type="nf4",
                            compress_statistics=compress_statistics)
    made.quant_state = state
    nested = [state.offset, state.state2.absmax, state.state2.code] if state.nested else []
    see(made, state.absmax, state.code, *nested)
    return made


def eight_bit(layer, compute):
    import bitsandbytes as bnb
    n, k = layer.weight.shape
    state = bnb.MatmulLtState()
    state.threshold, state.has_fp16_weights, state.use_pool = THRESHOLD, False, True
    made = bare(bnb.nn.Linear8bitLt, layer, state=state, index=None)
    codes = torch.empty((n, k), dtype=torch.int8, device=DEVICE)
    scales = torch.empty((n,), dtype=torch.float32, device=DEVICE)
    made.weight = parameter(codes, CB=codes, SCB=scales)
    see(made, scales)
    return made


def packed(model, bits, compute):
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    last = [m for m in model.modules() if isinstance(m, torch.nn.Linear)][-1]
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and child is not head and child is not last:
                child.requires_grad_(False)
                make = eight_bit if bits == "8" else four_bit
                setattr(module, name, make(child, compute, **BITS[bits]))
    return model


def took(make, targets, bits, dtype, precision, training):
    import peft
    model, args = make()
    model = model.to(dtype)
    args = tuple(t.to(dtype) if t.is_floating_point() else t for t in args)
    names = input_names(model, args, {})
    was = batch_of((args, {}), 0, names)
    with fake_cuda(True), operators():
        fake = packed(weightless(model), bits, torch.bfloat16 if precision else None)
        config = peft.LoraConfig(r=RANK, target_modules=targets, lora_dropout=DROPOUT)
        with unittest.mock.patch.object(torch.nn.Module, "_apply", lambda module, *_, **__: module):
            adapted = peft.get_peft_model(fake, config)    # all stand on the device already
        return run_step(adapted, lambda: resized((args, {}), was, ASKED, 0, names), ASKED, training=training,
                        precision=precision, vocabulary=_vocabulary(model, args, {}))


def check(program, name, bits, dtype, precision, folder):
    make, targets = MODELS[name]
    torch.manual_seed(0)
    base, args = make()
    args = tuple(t.to(dtype) if t.is_floating_point() else t for t in args)
    path = os.path.join(folder, "base.eager")
    onnx_mem.export(base.to(dtype), args, path)
    words = ["--base-bits", bits, "--lora", f"{RANK},{DROPOUT}:" + "|".join(rf"\.{t}\." for t in targets)]
    words += ["--amp", "bf16"] if precision else []
    run, _ = asked(program, path, ASKED, "adam", words)
    training = took(make, targets, bits, dtype, precision, True)
    inference = took(make, targets, bits, dtype, precision, False)
    rows = [(run["training"][f], getattr(training, f)) for f in FIGURES]
    rows += [(run["inference"]["peak_bytes"], inference.peak_bytes)]
    kind = precision or ("bf16" if dtype == torch.bfloat16 else "f32")
    print(f"{name:12} {kind:9} {bits:9}", " ".join(difference(*row) for row in rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bits", default=",".join(BITS))
    parser.add_argument("--precision", default="f32,bf16,amp-bf16")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.names or MODELS:
        for bits in options.bits.split(","):
            for precision in options.precision.split(","):
                dtype = torch.bfloat16 if precision == "bf16" else torch.float32
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        check(os.environ["ONNX_MEM_PROGRAM"], name, bits, dtype,
                              precision if precision.startswith("amp") else None, folder)
                    except Exception as error:
                        print(f"{name:12} {precision:9} {bits:9}", type(error).__name__,
                              str(error).replace("\n", " ")[:300])


if __name__ == "__main__":
    main()
