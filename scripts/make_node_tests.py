#!/usr/bin/env python3
"""ONNX's backend node tests -> testdata/node_tests.pb.gz, for tests/analyzer/onnx/node_tests_test.cc.

usage: make_node_tests.py OUTPUT      (needs the Python package onnx, the release that the build pins)

The file is a gzip stream of length-delimited ModelProtos (varint length, then the message), one per test, sorted by
name. graph.name is the test's name. Input values stand as initializers where they have at most 8192 elements; inputs
keep their declared types, with the dims of the actual value. graph.output has the dtype and shape of the expected
output. Expected outputs of at most 256 elements stand in graph.value_info's place of record: an initializer named
"expected/" + the output's name, which no node reads.
"""
import gzip
import sys
import warnings

import numpy as np
from google.protobuf.internal.encoder import _VarintBytes
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

MAX_INPUT_ELEMENTS = 8192
MAX_OUTPUT_ELEMENTS = 256


def as_tensor(value, element_type, name):
    """A TensorProto of an expected or given value; None for sequences, optionals and what is missing."""
    if isinstance(value, TensorProto):
        tensor = TensorProto()
        tensor.CopyFrom(value)
        tensor.name = name
        return tensor
    if value is None or isinstance(value, (list, tuple, dict)):
        return None
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "US":
        return helper.make_tensor(name, TensorProto.STRING, array.shape, [str(v).encode() for v in array.ravel()])
    tensor = numpy_helper.from_array(array, name)
    if element_type and tensor.data_type != element_type:
        raise ValueError(f"{name}: value has type {tensor.data_type}, declared {element_type}")
    return tensor


def count(tensor):
    return int(np.prod(tensor.dims, dtype=np.int64))


def set_shape(value_info, dims):
    shape = value_info.type.tensor_type.shape
    shape.ClearField("dim")
    shape.SetInParent()
    for dim in dims:
        shape.dim.add().dim_value = dim


def strip_docs(graph):
    graph.doc_string = ""
    for node in graph.node:
        node.doc_string = ""


def convert(case):
    model = case.model
    graph = model.graph
    graph.name = case.name
    model.doc_string = ""
    strip_docs(graph)
    given, expected = case.data_sets[0]
    inputs = [i for i in graph.input if i.name not in {t.name for t in graph.initializer}]
    for info, value in zip(inputs, given, strict=False):
        if not info.type.HasField("tensor_type"):
            continue
        tensor = as_tensor(value, info.type.tensor_type.elem_type, info.name)
        if tensor is None:
            continue
        set_shape(info, tensor.dims)
        if count(tensor) <= MAX_INPUT_ELEMENTS:
            graph.initializer.append(tensor)
    for info, value in zip(graph.output, expected, strict=False):
        if not info.type.HasField("tensor_type"):
            continue
        tensor = as_tensor(value, info.type.tensor_type.elem_type, "expected/" + info.name)
        if tensor is None:
            continue
        set_shape(info, tensor.dims)
        if count(tensor) <= MAX_OUTPUT_ELEMENTS:
            graph.initializer.append(tensor)
    return model


def main():
    warnings.filterwarnings("ignore")
    with (open(sys.argv[1], "wb") as raw,
          gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as out):
        for case in sorted(collect_testcases(None), key=lambda c: c.name):
            message = convert(case).SerializeToString(deterministic=True)
            out.write(_VarintBytes(len(message)) + message)


if __name__ == "__main__":
    main()
