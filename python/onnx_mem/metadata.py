"""A record in the metadata of an .onnx file."""
from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import zlib
from typing import Any

from ._record.record import Record
from ._types import Path
from .errors import Error, reported

VERSION, GRAPH_HASH, PROGRAM = "onnx_mem.version", "onnx_mem.graph_hash", "onnx_mem.program"
FORMAT = "1"
PLAIN_LIMIT = 16384                  # characters; longer texts are compressed
_PACKED = "zlib:"


def graph_hash(graph: Any) -> str:
    """SHA-256 (hex) over the graph's skeleton: what an edit (simplifier, quantizer) changes, and stripping weights does
    not. Lines `input NAME`, `initializer NAME DATA_TYPE d,d` (sorted by name), `node DOMAIN:OP in,in -> out,out`,
    `output NAME`, each with a line feed, in the file's order."""
    h = hashlib.sha256()
    for x in graph.input:
        h.update(f"input {x.name}\n".encode())
    for t in sorted(graph.initializer, key=lambda t: t.name):
        h.update(f"initializer {t.name} {t.data_type} {','.join(map(str, t.dims))}\n".encode())
    for n in graph.node:
        h.update(f"node {n.domain}:{n.op_type} {','.join(n.input)} -> {','.join(n.output)}\n".encode())
    for x in graph.output:
        h.update(f"output {x.name}\n".encode())
    return h.hexdigest()


def attach(model: Any, record: Record) -> None:
    """Puts the record into the metadata of an onnx.ModelProto, in place of one that is there."""
    text = record.text()
    packed = text if len(text) <= PLAIN_LIMIT else _PACKED + base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    kept = [(p.key, p.value) for p in model.metadata_props if p.key not in (VERSION, GRAPH_HASH, PROGRAM)]
    del model.metadata_props[:]
    for key, value in [*kept, (VERSION, FORMAT), (GRAPH_HASH, graph_hash(model.graph)), (PROGRAM, packed)]:
        model.metadata_props.add(key=key, value=value)


def _model_of(path: pathlib.Path) -> Any:
    import onnx
    from google.protobuf.message import DecodeError
    try:
        return onnx.load(os.fspath(path), load_external_data=False)
    except DecodeError as e:
        raise Error(f"'{path}' is not an ONNX model: {e}", "bad-model") from e


@reported
def read_record(path: Path) -> tuple[Record | None, bool]:
    """The record of a file, None where it has none; and whether it was written beside the graph that is there now.

    Args:
      path: an .onnx file, or one of bare text.

    Raises:
      Error: code "bad-record".
    """
    path = pathlib.Path(path)
    if path.suffix == ".eager":
        return Record.from_text(path.read_text(encoding="utf-8")), True
    model = _model_of(path)
    found = {p.key: p.value for p in model.metadata_props}
    if PROGRAM not in found:
        return None, False
    text = found[PROGRAM]
    if text.startswith(_PACKED):
        try:
            text = zlib.decompress(base64.b64decode(text[len(_PACKED):])).decode()
        except (ValueError, zlib.error) as e:
            raise Error(f"the record of '{path}' cannot be unpacked: {e}", "bad-record") from e
    return Record.from_text(text), found.get(GRAPH_HASH) == graph_hash(model.graph)
