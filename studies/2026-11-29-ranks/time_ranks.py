"""What an answer for a rank costs beside the one for one card, in CPU time, and how long a decoder of 70 B parameters over
64 ranks takes, recorded on the meta device.

usage: time_ranks.py PROGRAM MODELS_DIR    # needs torch and transformers for the decoder
"""
from __future__ import annotations

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 11
MODELS = {"resnet50": ["-b", "64"], "vit_b_16": ["-b", "64"], "bert_base": ["-b", "32", "-d", "seq=128"],
          "gpt2_sdpa": ["-b", "8", "-d", "seq=256"], "mobilenet_v2": ["-b", "64"], "unet_seg": ["-b", "8"]}
LAYOUTS = {"fsdp 8": ["--fsdp", "8"], "ddp 8": ["--ddp", "8"]}


def cpu_ms(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def pairs(program: str, models: pathlib.Path) -> None:
    print("| model | one card, ms | " + " | ".join(LAYOUTS) + " |\n| --- | ---: |" + " ---: |" * len(LAYOUTS))
    for name, options in MODELS.items():
        ask = [program, str(models / f"{name}.train.ts.op17.onnx"), "-m", "train", "-q", *options]
        rows = [[cpu_ms([*ask, *more]) for more in ([], *LAYOUTS.values())] for _ in range(RUNS)]
        ratios = [statistics.median(row[i] / row[0] for row in rows) for i in range(1, len(LAYOUTS) + 1)]
        alone = statistics.median(row[0] for row in rows)
        print(f"| {name} | {alone:.1f} | " + " | ".join(f"x{ratio:.2f}" for ratio in ratios) + " |", flush=True)


def record_decoder(path: str) -> None:
    import torch
    import transformers

    import onnx_mem
    config = transformers.LlamaConfig(hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, vocab_size=128256,
                                      num_attention_heads=64, num_key_value_heads=8, use_cache=False)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        example = torch.zeros(1, 64, dtype=torch.int64)
    onnx_mem.export(model, (), path, kwargs={"input_ids": example}, free={"seq": 1})


def decoder(program: str, folder: pathlib.Path) -> None:
    record = folder / "decoder.eager"
    began = time.monotonic()
    subprocess.run([sys.executable, __file__, "--record", str(record)], check=True, stderr=subprocess.DEVNULL)
    print(f"\n70 B parameters, sequences of 4096, recorded on meta in {time.monotonic() - began:.0f} s\n")
    print("| layout | bytes | time, s | memory, GiB |\n| --- | ---: | ---: | ---: |")
    for more in (["--fsdp", "64"], ["--pipeline", "8", "--micro-batches", "8", "--fsdp", "8", "--reshard", "no"]):
        ask = [program, str(record), "-m", "train", "-b", "8", "-d", "seq=4096", "-q", *more]
        began = time.monotonic()
        with subprocess.Popen(ask, stdout=subprocess.PIPE, text=True) as process:
            output = process.stdout.read() if process.stdout else ""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds, memory = time.monotonic() - began, usage.ru_maxrss / 2**20
        print(f"| {' '.join(more)} | {output.split('train=')[1].strip()} | {seconds:.2f} | {memory:.2f} |")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        record_decoder(sys.argv[2])
    else:
        pairs(sys.argv[1], pathlib.Path(sys.argv[2]))
        with tempfile.TemporaryDirectory() as scratch:
            decoder(sys.argv[1], pathlib.Path(scratch))
