"""Writes the models of the documents that testdata/models has not.

    PYTHONPATH=python python testdata/docs/make_models.py

llama2_7b.bf16.record.onnx: a record of Llama 2 7B (the sizes of transformers' LlamaConfig) in bfloat16, from the meta
device, its length free. Without its graph, which is larger. Minutes.
"""
import pathlib

import torch
import transformers

import onnx_mem
from onnx_mem import exporting
from onnx_mem.metadata import attach

FOLDER = pathlib.Path(__file__).resolve().parent


def main() -> None:
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(use_cache=False)).to(torch.bfloat16)
    made = onnx_mem.record(model, (torch.zeros(2, 512, dtype=torch.long),), free={"seq": 1})
    proto = exporting._graph_without_nodes(made, type(model).__name__)
    exporting._store_the_rest(proto.graph, made, {})
    attach(proto, made)
    (FOLDER / "llama2_7b.bf16.record.onnx").write_bytes(proto.SerializeToString())


main()
