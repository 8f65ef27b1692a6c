"""onnx-mem from Python in five minutes: what a model takes, whether it fits, and what makes it fit.

    python examples/tutorial.py        # wants torch; no GPU, and no weight is read
"""
import torch
from torch import nn

import onnx_mem


def small_network(width: int = 64) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.Conv2d(width, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def main() -> None:
    model = small_network()
    x = torch.zeros(2, 3, 64, 64)          # only its shape matters

    # 1. What does a training step take, on this card?
    report = onnx_mem.analyze(model, x, batch=256, optimizer="adamw", gpu="T4")
    print(report)
    training = report.training
    low, high = (end / 2**30 for end in training.device_interval_bytes)
    print(f"on the GPU {training.device_bytes / 2**30:.2f} GiB ({low:.2f} to {high:.2f}):", report.verdict)
    print("most is alive in", training.peak["module"], "in", training.peak["phase"])
    for category, size in training.breakdown.items():
        print(f"  {category:24}{size / 2**20:10.1f} MiB")

    # 2. Is that right? The model's own code, counted on tensors without data.
    measured = onnx_mem.measure(model, x, batch=256, optimizer="adamw")
    print("measured the same:", measured.peak_bytes == training.peak_bytes)

    # 3. Which batches fit, and what makes a larger one fit?
    fit = onnx_mem.fit(model, x, gpu="T4", batch=8192)
    print("safe up to batch", fit.safe_batch, "- expected to fit up to", fit.largest_batch)
    for way in fit.ways:
        print(f"  {way['change']:40}{way['device_bytes'] / 2**30:6.2f} GiB   {way['cost']}")

    # 4. A checkpoint plan within a budget, put on the model and taken off again.
    plan = onnx_mem.plan(model, x, batch=256, budget="80%")
    chosen = plan.chosen_plan
    if chosen is not None:
        print("checkpoint", [segment["modules"] for segment in chosen["segments"]], f"{chosen['time_slowdown']:+.1%}")
        plan.apply(model)
        onnx_mem.restore(model)

    # 5. Keep the answer, and compare the next one with it.
    report.save("before.json")             # read again by analyze("before.json") and compare("before.json", ...)
    report.save("before.html")             # a page that opens offline
    wider = onnx_mem.analyze(small_network(96), x, batch=256, optimizer="adamw", gpu="T4")
    print(onnx_mem.compare(report, wider))

    # 6. What goes wrong has a code and a way out.
    try:
        onnx_mem.analyze("no-such-file.onnx")
    except onnx_mem.Error as e:
        print(f"[{e.code}] {e}")


if __name__ == "__main__":
    main()
