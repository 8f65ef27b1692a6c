#!/usr/bin/env python3
"""Writes testdata/measured/trainers.json: what a training step takes in the loop of each trainer, on the CPU.

usage: measure_trainers.py      (needs torch, transformers, accelerate, lightning and onnx_mem; no GPU)

Hugging Face's Trainer, Lightning's Trainer and Fabric themselves train two small models for four steps with SGD.
Every storage that an operator makes is followed from birth to death; the figure is the most bytes alive at once in
the last two steps, parameters included. `host_bytes` of it are the batch that Hugging Face's data loader fetches ahead
(accelerate/data_loader.py, DataLoaderShard.__iter__), which waits on the host where there is a card. The records of
the two models are written beside it.
"""
import json
import logging
import pathlib
import tempfile
import warnings
import weakref

import lightning
import torch
import transformers
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import onnx_mem

HERE = pathlib.Path(__file__).resolve().parent
STEPS, SETTLED, TOKENS = 4, 2, 32
warnings.filterwarnings("ignore")
for name in ("lightning", "lightning.pytorch", "lightning.fabric", "transformers"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Alive(TorchDispatchMode):
    """live and peak: bytes of the storages that are seen, or made by operators, and not yet freed."""

    def __init__(self, model):
        super().__init__()
        self.known, self.live, self.peak = {}, 0, 0
        for tensor in [*model.parameters(), *model.buffers()]:
            self.see(tensor)

    def freed(self, key, size):
        self.known.pop(key, None)
        self.live -= size

    def see(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.known and tensor.device.type == "cpu":
            self.known[key] = storage.nbytes()
            self.live += storage.nbytes()
            weakref.finalize(storage, self.freed, key, storage.nbytes())
        self.peak = max(self.peak, self.live)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self.see(tensor)
        return out

    def settle(self, step):
        if step == SETTLED:
            self.peak = self.live


class Tokens(nn.Module):
    """Its logits are most of what it takes."""

    def __init__(self, width=64, tokens=2000, depth=1):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.layers = nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(width, width), nn.Tanh())])
        self.head = nn.Linear(width, tokens)

    def forward(self, input_ids, labels):
        logits = self.head(self.layers(self.embed(input_ids)))
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits}


class Wide(Tokens):
    """Its gradients are most of what it takes."""

    def __init__(self):
        super().__init__(width=512, tokens=50, depth=4)


class Batches(torch.utils.data.Dataset):
    """Rows that nobody holds: what a data set in memory takes is no part of the step."""

    def __init__(self, batch):
        self.rows = batch * STEPS

    def __len__(self):
        return self.rows

    def __getitem__(self, index):
        return {"input_ids": torch.zeros(TOKENS, dtype=torch.int64), "labels": torch.zeros(TOKENS, dtype=torch.int64)}


def by_hand(model, optimizer, backward, alive, batch):
    def step(inputs):
        outputs = model(**inputs)
        backward(outputs["loss"])
        optimizer.step()
        optimizer.zero_grad()

    with alive:
        for i, inputs in enumerate(torch.utils.data.DataLoader(Batches(batch), batch_size=batch)):
            alive.settle(i)
            step(inputs)


def plain(model, alive, batch):
    by_hand(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.Tensor.backward, alive, batch)


def hf(model, alive, batch):
    class Settle(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            alive.settle(state.global_step)

    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=STEPS, per_device_train_batch_size=batch, optim="sgd", max_grad_norm=0, report_to=[],
            disable_tqdm=True, save_strategy="no", logging_strategy="no", use_cpu=True)
        trainer = transformers.Trainer(model, arguments, train_dataset=Batches(batch), callbacks=[Settle()])
        with alive:
            trainer.train()


def lightning_(model, alive, batch):
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, inputs, index):
            return self.model(**inputs)["loss"]

        def on_train_batch_start(self, inputs, index):
            alive.settle(index)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = lightning.Trainer(max_steps=STEPS, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    with alive:
        trainer.fit(Module(), torch.utils.data.DataLoader(Batches(batch), batch_size=batch))


def fabric(model, alive, batch, precision="32-true"):
    fabric = lightning.Fabric(accelerator="cpu", devices=1, precision=precision)
    module, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    by_hand(module, optimizer, fabric.backward, alive, batch)


def half(model, alive, batch):
    fabric(model, alive, batch, "bf16-true")


LOOPS = {"plain": plain, "hf": hf, "lightning": lightning_, "fabric": fabric, "fabric bf16-true": half}


def main():
    rows = []
    for name, make, batch in (("tokens", Tokens, 8), ("wide", Wide, 2)):
        for loop, run in LOOPS.items():
            model = make().to(torch.bfloat16 if run is half else torch.float32)
            record = f"{name}{'_bf16' if run is half else ''}"
            alive = Alive(model)
            run(model, alive, batch)
            ahead = 2 * batch * TOKENS * 8 if run is hf else 0
            rows.append({"record": record, "trainer": loop.split()[0], "batch": batch, "peak_bytes": alive.peak,
                         "host_bytes": ahead})
            print(rows[-1])
        for suffix, dtype in (("", torch.float32), ("_bf16", torch.bfloat16)):
            ids = torch.zeros(batch, TOKENS, dtype=torch.int64)
            path = HERE / "trainers" / f"{name}{suffix}.eager"
            onnx_mem.export(make().to(dtype), (), path, kwargs={"input_ids": ids, "labels": ids.clone()})
    (HERE / "measured" / "trainers.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
