#!/usr/bin/env python3
"""Do plans hold on stock models?  Plans of torchvision's, transformers' and timm's models, applied to the live model.

    check_applied_plans.py [MODEL ...] [--shares 80,60,40,15] [--granularity auto]

For each model and budget (of live bytes, SGD; a share of the way from the least that a plan takes to the step without
one): the plan is applied; a step on tensors without data must take the promised peak within 0.1 %, and exactly the
FLOPs that are promised, by torch.utils.flop_counter's formulas; a step on the CPU must give the same loss, gradients,
buffers and generator's state, bit by bit. There, kept calls that the CPU does not make are not kept. Exit 1 if there is
no plan, one is refused, or anything differs.
"""
import argparse
import copy
import sys
import time
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

import onnx_mem
from onnx_mem._checkpoint import applied

PEAK_WITHIN = 1e-3


def image(batch=8, size=96):
    return lambda: ((torch.randn(batch, 3, size, size),), {})


def words(batch=16, length=128, vocabulary=500, **more):
    return lambda: ((), {"input_ids": torch.randint(1, vocabulary, (batch, length)),
                         **{key: torch.randint(1, vocabulary, (batch, n)) for key, n in more.items()}})


def vision(name, **options):
    import torchvision
    return getattr(torchvision.models, name)(**options)


def timm_model(name, **options):
    import timm
    return timm.create_model(name, pretrained=False, **options)


def hf(name, **options):
    import transformers
    kind = next(name[:i] for i in range(len(name), 0, -1) if hasattr(transformers, name[:i] + "Config"))
    return getattr(transformers, name)(getattr(transformers, kind + "Config")(use_cache=False, **options))


SMALL = {"num_hidden_layers": 6, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 384}
TEXT = {**SMALL, "vocab_size": 500}
MODELS = {
    # As narrow as the others: of the real one at this size nearly all is weights, which no plan frees.
    "vit_b_16": (lambda: vision("VisionTransformer", image_size=96, patch_size=16, num_layers=6, num_heads=4,
                                hidden_dim=128, mlp_dim=384), image(16)),
    "swin_t": (lambda: vision("swin_t"), image()),
    "resnet50": (lambda: vision("resnet50"), image()),
    "mobilenet_v3_small": (lambda: vision("mobilenet_v3_small"), image(16)),
    "efficientnet_b0": (lambda: vision("efficientnet_b0"), image()),
    "convnext_tiny": (lambda: vision("convnext_tiny"), image()),
    "bert": (lambda: hf("BertForSequenceClassification", **TEXT), words()),
    "bert_masked": (lambda: hf("BertForMaskedLM", **TEXT),
                    lambda: ((), {**words()()[1], "attention_mask": torch.ones(16, 128, dtype=torch.long)})),
    "gpt2": (lambda: hf("GPT2LMHeadModel", n_layer=6, n_embd=128, n_head=4, vocab_size=500), words()),
    "llama": (lambda: hf("LlamaForCausalLM", num_key_value_heads=2, **TEXT), words()),
    "t5": (lambda: hf("T5ForConditionalGeneration", d_model=128, d_kv=32, d_ff=256, num_layers=4, num_heads=4,
                      vocab_size=500), words(decoder_input_ids=24)),
    "hf_vit": (lambda: hf("ViTForImageClassification", image_size=96, **SMALL), image()),
    "whisper": (lambda: hf("WhisperForConditionalGeneration", d_model=128, encoder_layers=4, decoder_layers=4,
                           encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=384,
                           decoder_ffn_dim=384, vocab_size=500, max_source_positions=100, pad_token_id=0,
                           bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
                lambda: ((torch.randn(16, 80, 200),), {"decoder_input_ids": torch.randint(1, 500, (16, 24))})),
    "deit_tiny": (lambda: timm_model("deit_tiny_patch16_224", img_size=96, drop_path_rate=0.1), image()),
    "convnext_atto": (lambda: timm_model("convnext_atto", drop_path_rate=0.1), image(16)),
    "densenet121": (lambda: vision("densenet121"), image()),
    "mobilenet_v2": (lambda: vision("mobilenet_v2"), image(16)),
    "opt": (lambda: hf("OPTForCausalLM", hidden_size=128, ffn_dim=384, num_hidden_layers=6, num_attention_heads=4,
                       word_embed_proj_dim=128, vocab_size=500, max_position_embeddings=256), words()),
    "qwen2": (lambda: hf("Qwen2ForCausalLM", num_key_value_heads=2, **TEXT), words()),
    "regnety_002": (lambda: timm_model("regnety_002"), image(16)),
}


def made(build):
    torch.manual_seed(0)
    return build().train()


def first_result(out):
    return next(iter(out.values())) if isinstance(out, dict) else out


def outcome(model, inputs):
    """Loss, gradients, buffers and the generator's state of two steps."""
    args, kwargs = inputs
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model.zero_grad()
        loss = first_result(model(*args, **kwargs)).float().pow(2).mean()
        loss.backward()
        found.append(loss.detach())
    return [*found, *(p.grad for p in model.parameters() if p.grad is not None), *model.buffers(),
            torch.get_rng_state()]


class Flops(TorchDispatchMode):
    """FLOPs by flop_counter's formulas. FlopCounterMode puts hooks on backward, which tensors without data lack."""
    last = 0    # measure() puts back what a step's own variables were, so the figure stands here

    def __enter__(self):
        Flops.last = 0
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            Flops.last += formula(*args, **(kwargs or {}), out_val=out)
        return out


def flops_of_step(model, args, kwargs):
    """Of forward and backward with the operators of a GPU, second runs among them."""
    def step(model, *args, **kwargs):
        model.zero_grad()
        with Flops():
            first_result(model(*args, **kwargs)).float().mean().backward()
    onnx_mem.measure(model, args, kwargs=kwargs, step=step)
    return Flops.last


def promised_flops(plan):
    return plan.baseline["forward_flops"] + plan.baseline["backward_flops"] + plan.chosen_plan["recompute_flops"]


def faults(plan, build, inputs, expected):
    chosen = plan.chosen_plan
    found = []
    try:
        measured = onnx_mem.measure(plan.apply(made(build)), inputs[0], kwargs=inputs[1], optimizer="sgd", loss="mean")
        flops = flops_of_step(plan.apply(made(build)), *inputs)
    except (onnx_mem.Error, RuntimeError) as e:
        return [f"refused: {e}"]
    off = measured.peak_bytes / chosen["peak_bytes"] - 1
    if abs(off) > PEAK_WITHIN:
        found.append(f"peak {off:+.3%}")
    if flops != promised_flops(plan):
        found.append(f"{flops} FLOPs, promised {promised_flops(plan)}")
    real, applied._FirstCalls.check_found = applied._FirstCalls.check_found, lambda run: None
    try:
        got = outcome(plan.apply(made(build)), inputs)
    except RuntimeError as e:
        return [*found, f"refused on the CPU: {e}"]
    finally:
        applied._FirstCalls.check_found = real
    if len(got) != len(expected) or not all(map(torch.equal, got, expected)):
        found.append("values differ")
    return found


def check(name, shares, granularity):
    build, inputs = MODELS[name][0], MODELS[name][1]()
    record = onnx_mem.record(made(build), inputs[0], inputs[1])
    batch = next(iter((*inputs[0], *inputs[1].values()))).shape[0]
    expected = outcome(made(build), inputs)
    options = {"budget_on": "live", "granularity": granularity, "optimizer": "sgd", "loss": "mean", "batch": batch}
    curve = onnx_mem.plan(record, **options)
    least, most = min(p["peak_bytes"] for p in curve.plans), curve.baseline["peak_bytes"]
    wrong = 0
    for share in shares:
        began = time.monotonic()
        plan = onnx_mem.plan(record, budget=f"{least + (most - least) * share // 100}B", **options)
        seconds = time.monotonic() - began
        chosen = plan.chosen_plan
        if chosen is None:
            print(f"{name:20} {share:3} %  no plan", flush=True)
            wrong += 1
            continue
        found = faults(plan, build, copy.deepcopy(inputs), expected)
        wrong += bool(found)
        kept = sum(isinstance(s.get("keep"), dict) for s in chosen["segments"])
        print(f"{name:20} {share:3} %, {chosen['peak_bytes'] / most:.1%}  "
              f"{len(chosen['segments'])} segments, {kept} by call, "
              f"+{chosen['time_slowdown']:.2%} time, planned in {seconds:.1f} s  {'; '.join(found) or 'equal'}",
              flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--shares", default="80,60,40,15")
    parser.add_argument("--granularity", default="auto")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.use_deterministic_algorithms(True)
    shares = [int(share) for share in args.shares.split(",")]
    wrong = sum(check(name, shares, args.granularity) for name in args.models or MODELS)
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
