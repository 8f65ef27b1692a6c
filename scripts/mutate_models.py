#!/usr/bin/env python3
"""mutate_models.py PROGRAM [-n COUNT] [--seed N] [-j JOBS] [--keep FOLDER]

Changes models of testdata as a mistaken or hostile exporter would (inputs left out, attributes, types, versions, names,
shapes, graphs within graphs), and in one run of four another file that the program reads: a record, a saved report, a
plan, an instance, a table of cards, a snapshot. Runs the program on each, and lists every run that crashes, exits with
anything but 0, 1 or 2, takes more than 2 s of CPU or 1 GiB, or writes a control character. Needs the package onnx. Exit
1 where one did.
  --slowdown N   of a program with sanitizers: both limits are so many times as large
"""
import argparse
import copy
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
from onnx import AttributeProto, TensorProto, helper

ROOT = Path(__file__).resolve().parent.parent
NUMBERS = [0, 1, -1, 2, 3, 7, 64, 255, 1 << 15, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63)]
NAMES = ["", "\x1b[2J", "\u202e", "\u009b", "a" * 70000, "..", "/" * 300, "%s%n", "x", "y"]
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ARGUMENTS = [[], ["-q"], ["-b", "2"], ["-m", "infer"], ["-v", "--by", "tensor"], ["-f", "json"],
             ["-f", "csv", "--by", "layer"],
             ["--precision", "bf16"], ["--checkpointed", ".*"], ["--freeze", ".*bias"], ["-b", "4611686018427387904"]]


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def nodes_of(model):
    return [(g, i) for g in graphs_of(model.graph) for i in range(len(g.node))]


def drop_input(r, model, node):
    if node.input:
        i = r.randrange(len(node.input))
        if r.random() < 0.5:
            node.input[i] = ""
        else:
            del node.input[i:]


def double_inputs(r, model, node):
    node.input.extend(list(node.input) * r.choice([1, 1, 40]))


def swap_inputs(r, model, node):
    if len(node.input) > 1:
        a, b = r.sample(range(len(node.input)), 2)
        node.input[a], node.input[b] = node.input[b], node.input[a]


def other_input(r, model, node):
    graph, i = r.choice(nodes_of(model))
    if node.input and graph.node[i].output:
        node.input[r.randrange(len(node.input))] = r.choice(graph.node[i].output)


def drop_output(r, model, node):
    if node.output:
        node.output[r.randrange(len(node.output))] = ""


def add_output(r, model, node):
    node.output.extend(f"more{r.randrange(1 << 30)}" for _ in range(r.choice([1, 2, 50])))


def attribute_value(r, model, node):
    if not node.attribute:
        return
    a = r.choice(node.attribute)
    if a.type == AttributeProto.INT:
        a.i = r.choice(NUMBERS)
    elif a.type == AttributeProto.INTS:
        if a.ints and r.random() < 0.6:
            a.ints[r.randrange(len(a.ints))] = r.choice(NUMBERS)
        else:
            a.ints[:] = [r.choice(NUMBERS) for _ in range(r.choice([0, 1, 3, 9]))]
    elif a.type == AttributeProto.FLOAT:
        a.f = r.choice([0.0, -1.0, float("nan"), float("inf"), 1e30])
    elif a.type == AttributeProto.STRING:
        a.s = r.choice([b"", b"\xff\x1b", b"...,...->...", b"SAME_UPPER", b"linear", b"x" * 5000])


def attribute_type(r, model, node):
    if node.attribute:
        r.choice(node.attribute).type = r.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 10])


def drop_attribute(r, model, node):
    if node.attribute:
        del node.attribute[r.randrange(len(node.attribute))]


def add_attribute(r, model, node):
    name = r.choice(["axis", "axes", "group", "keepdims", "num_heads", "hidden_size", "perm", "to", "equation", "body",
                     "then_branch", "strides", "pads", "split", "num_outputs", "groups", "direction", "layout"])
    value = r.choice([r.choice(NUMBERS), [r.choice(NUMBERS)] * r.randrange(1, 4), "i...j...", 0.5])
    node.attribute.append(helper.make_attribute(name, value))


def operator(r, model, node):
    if r.random() < 0.5:
        node.op_type = r.choice([n.op_type for n in model.graph.node])
        return
    node.domain = "com.microsoft"
    node.op_type = r.choice("""Attention BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu EmbedLayerNormalization
        FusedConv FusedGemm FusedMatMul GemmFastGelu GroupNorm GroupQueryAttention MultiHeadAttention QAttention
        QLinearConcat QLinearWhere RotaryEmbedding SkipLayerNormalization SkipGroupNorm MatMulNBits Rfft""".split())


def domain(r, model, node):
    node.domain = r.choice(["", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc", "my", "\x1b"])


def name(r, model, node):
    kind = r.randrange(4)
    if kind == 0:
        node.name = r.choice(NAMES)
    elif kind == 1 and node.output:
        node.output[0] = r.choice(NAMES)
    elif kind == 2 and model.graph.initializer:
        r.choice(model.graph.initializer).name = r.choice(NAMES)
    elif model.graph.input:
        r.choice(model.graph.input).name = r.choice(NAMES)


def opset(r, model, node):
    if model.opset_import:
        r.choice(model.opset_import).version = r.choice([0, 1, 5, 6, 9, 12, 13, 17, 18, 21, 23, 99, -1])


def weight(r, model, node):
    if not model.graph.initializer:
        return
    tensor = r.choice(model.graph.initializer)
    kind = r.randrange(3)
    if kind == 0 and tensor.dims:
        tensor.dims[r.randrange(len(tensor.dims))] = r.choice(NUMBERS)
    elif kind == 1:
        tensor.dims[:] = [r.choice([0, 1, 2, 16, 1 << 20]) for _ in range(r.randrange(5))]
    else:
        tensor.data_type = r.choice(list(TensorProto.DataType.values()) + [77])


def input_shape(r, model, node):
    inputs = [i for i in model.graph.input if i.type.tensor_type.shape.dim]
    if inputs:
        dim = r.choice(r.choice(inputs).type.tensor_type.shape.dim)
        if r.random() < 0.5:
            dim.dim_value = r.choice(NUMBERS)
        else:
            dim.dim_param = r.choice(["n", "n*n-1", "(((", "-" * 3000 + "n", "n" * 3000, "\x1b[2J",
                                       "9999999999999999999"])


def input_type(r, model, node):
    if model.graph.input:
        value = r.choice(model.graph.input)
        if r.random() < 0.3:
            value.type.Clear()
        else:
            value.type.tensor_type.elem_type = r.choice([0, 1, 7, 8, 9, 10, 16, 77])


def constant(r, model, node):
    """The contents of a shape, or of axes, that the file holds."""
    numbers = [t for t in model.graph.initializer if t.data_type == TensorProto.INT64 and len(t.raw_data) >= 8]
    numbers += [a.t for n in model.graph.node for a in n.attribute
                if a.HasField("t") and a.t.data_type == TensorProto.INT64]
    numbers = [t for t in numbers if len(t.raw_data) >= 8]
    if numbers:
        tensor = r.choice(numbers)
        at = 8 * r.randrange(len(tensor.raw_data) // 8)
        value = (r.choice(NUMBERS) + (1 << 63)) % (1 << 64) - (1 << 63)
        tensor.raw_data = tensor.raw_data[:at] + value.to_bytes(8, "little", signed=True) + tensor.raw_data[at + 8:]


def drop_node(r, model, node):
    graph, i = r.choice(nodes_of(model))
    del graph.node[i]


def double_node(r, model, node):
    graph, i = r.choice(nodes_of(model))
    graph.node.append(graph.node[i])


def nest(r, model, node):
    """The node within an If, a Loop or a Scan, or within twenty."""
    if not node.output or not node.output[0]:
        return
    depth = r.choice([1, 1, 2, 20])
    outputs = list(node.output)
    for level in range(depth):
        inner = onnx.NodeProto()
        inner.CopyFrom(node)
        names = [f"{o}_in{level}" for o in outputs]
        inner.output[:] = names
        body = onnx.GraphProto(name=f"body{level}")
        body.node.append(inner)
        body.output.extend(onnx.ValueInfoProto(name=n) for n in names)
        kind = r.choice(["If", "Loop", "Scan"])
        node.Clear()
        node.op_type = kind
        node.output[:] = outputs
        if kind == "If":
            node.input[:] = [r.choice(list(inner.input) + [""])]
            node.attribute.append(helper.make_attribute("then_branch", body))
            node.attribute.append(helper.make_attribute("else_branch", body))
        else:
            node.input[:] = [r.choice(list(inner.input) + [""]), ""]
            node.attribute.append(helper.make_attribute("body", body))
            if kind == "Scan":
                node.attribute.append(helper.make_attribute("num_scan_inputs", r.choice([0, 1, 5, -1])))


def function(r, model, node):
    """Functions that call one another, and the node as a call of the last."""
    depth = r.choice([1, 3, 12, 40])
    for k in range(depth):
        calls = [helper.make_node(f"f{k - 1}", ["a"], ["t"], domain="fn"),
                 helper.make_node(f"f{k - 1}", ["t"], ["b"], domain="fn")]
        model.functions.append(helper.make_function(
            "fn", f"f{k}", ["a"], ["b"], calls if k else [helper.make_node("Relu", ["a"], ["b"])],
            [helper.make_opsetid("", 17)]))
    node.op_type, node.domain = f"f{depth - 1}", "fn"
    del node.attribute[:]


MUTATIONS = [drop_input, double_inputs, swap_inputs, other_input, drop_output, add_output, attribute_value,
             attribute_value, attribute_value, attribute_type, drop_attribute, add_attribute, operator, domain, name,
             opset, weight, input_shape, input_type, constant, constant, drop_node, double_node, nest, function]


def seeds():
    found = []
    for path in sorted((ROOT / "testdata").rglob("*.onnx")):
        if path.stat().st_size < 300_000:
            found.append(path)
    return found


def mutant(r, model):
    made = []
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        graph, i = r.choice(nodes_of(model)) if nodes_of(model) else (None, 0)
        if graph is None:
            break
        change = r.choice(MUTATIONS)
        try:
            change(r, model, graph.node[i])
        except (ValueError, TypeError, UnicodeError):
            continue  # a value that the field does not hold
        made.append(change.__name__)
    return made


def places_of(value, found=None):
    """(container, key) of everything within a value of JSON."""
    found = [] if found is None else found
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        places_of(value[key], found)
    return found


WORDS = [None, True, "", 0, -1, 1.5, 1e308, "x", [], {}, "\x1b[2J", "\u202e", "a" * 70000, "9" * 40, "../..",
         [[[[]]]] * 50, *NUMBERS, 1 << 64, 10 ** 400]


def change_json(r, value):
    """A value of another kind, a part left out, doubled, or put elsewhere."""
    for _ in range(r.choice([1, 1, 2, 4])):
        places = places_of(value)
        if not places:
            return
        container, key = r.choice(places)
        kind = r.randrange(5)
        if kind == 0:
            container[key] = copy.deepcopy(r.choice(WORDS))
        elif kind == 1:
            del container[key]
        elif kind == 2 and isinstance(container, list):
            container.extend([copy.deepcopy(container[key])] * r.choice([1, 2, 2000]))
        elif kind == 3:
            other, name = r.choice(places)
            container[key] = copy.deepcopy(other[name])
        else:
            near = container[key]
            word = r.choice([1, -1, 1 << 40]) if isinstance(near, int) else r.choice(WORDS)
            container[key] = near + word if isinstance(near, int) else copy.deepcopy(word)


def change_bytes(r, text):
    words = [b"0", b"-1", b"9223372036854775807", b"1e999", b",", b'"', b"\n", b"\x00", b"\x1b[2J", b"\xff", b"%s",
             b"," * 9000]
    for _ in range(r.choice([1, 2, 4, 8])):
        at, length = r.randrange(len(text) + 1), r.randrange(40)
        kind = r.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + length:]
        elif kind == 1:
            text = text[:at] + r.choice(words) + text[at:]
        elif kind == 2:
            text = text[:at] + bytes([r.randrange(256)]) + text[at + 1:]
        else:
            text = text[:at] + text[at:at + length] * r.choice([2, 50]) + text[at:]
    return text


def change_lines(r, text):
    """Of a record: lines left out, doubled or elsewhere, and words of one in another."""
    lines = text.split(b"\n")
    for _ in range(r.choice([1, 2, 4])):
        i, k = r.randrange(len(lines)), r.randrange(len(lines))
        kind = r.randrange(4)
        if kind == 0:
            del lines[i]
        elif kind == 1:
            lines[i:i] = [lines[k]] * r.choice([1, 1, 500])
        elif kind == 2:
            lines[i], lines[k] = lines[k], lines[i]
        else:
            words, others = lines[i].split(b" "), lines[k].split(b" ")
            words[r.randrange(len(words))] = r.choice(others + [b"-1", b"f32[9223372036854775807,2]", b"%99999", b""])
            lines[i] = b" ".join(words)
        if not lines:
            break
    return b"\n".join(lines)


MODEL = str(ROOT / "testdata/models/lenet5.train.ts.op17.onnx")
# Files beside models: where they come from, what the changed one is called, how the program is asked about it.
OTHERS = [("testdata/records/*.eager", "r.eager", [["{file}"], ["{file}", "-q"], ["{file}", "-f", "json"],
                                                  ["check", "{file}"], ["{file}", "--by", "tensor", "-v"]]),
          ("fuzz/corpus/report/*.json", "r.json", [["compare", "{file}", MODEL], ["compare", "{file}", "{file}"],
                                                   ["compare", "{file}", MODEL, "-f", "csv"]]),
          ("fuzz/corpus/plan/*.json", "p.json", [[MODEL, "--plan", "{file}"], [MODEL, "--plan", "{file}", "-q"]]),
          ("fuzz/corpus/instance/*.json", "i.json", [["plan", "--instance", "{file}", "--budget", "10"]]),
          ("fuzz/corpus/gpus/*.csv", "cards.csv", [["gpus"], [MODEL, "--gpu", "Big"], ["fit", MODEL, "--gpu", "T4"]]),
          ("fuzz/corpus/pickle/*.pickle", "s.pickle", [["compare", MODEL, "{file}", "-b", "2"]])]


def other_mutant(r, folder):
    """(what it is, command line, environment), its file made."""
    pattern, called, commands = r.choice(OTHERS)
    seed = r.choice(sorted(ROOT.glob(pattern)))
    path = Path(folder) / called
    text = seed.read_bytes()
    if called == "r.eager" and r.random() < 0.7:
        text = change_lines(r, text)
    elif called.endswith(".json") and text.lstrip().startswith(b"{") and r.random() < 0.8:
        value, _ = json.JSONDecoder().raw_decode(text.lstrip().decode("utf-8", "replace"))
        change_json(r, value)
        text = json.dumps(value).encode()
    else:
        text = change_bytes(r, text)
    if called == "r.eager" and r.random() < 0.1:
        text = gzip.compress(text, 1)
    path.write_bytes(text)
    command = [str(path) if word == "{file}" else word for word in r.choice(commands)]
    return seed.name, path, command, {"ONNX_MEM_GPUS": str(path)} if called == "cards.csv" else {}


def run(program, path, arguments, environment, slowdown):
    # A sanitizer's shadow is address space beyond any limit.
    address_space = "ulimit -v 8000000;" if slowdown == 1 else ""
    limit = f'ulimit -c 0; ulimit -t {12 * slowdown}; {address_space} exec "$@"'
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(["bash", "-c", limit, "-", program, *arguments], stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environment})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "surrogateescape")
    wrong = []
    if child.returncode not in (0, 1, 2):
        wrong.append(f"exit {child.returncode}")
    seconds, mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    if seconds > 2 * slowdown and path.stat().st_size < 1_000_000:
        wrong.append(f"{seconds:.1f} s")
    if mib > 1024 * slowdown:
        wrong.append(f"{mib:.0f} MiB")
    if FORBIDDEN.search(text) or re.search("[\ud800-\udfff]", text):
        wrong.append("writes a control character")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--slowdown", type=int, default=1)
    parser.add_argument("--keep", help="where models that fail are kept")
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    files = seeds()
    bad = 0

    def one(number):
        r = random.Random(args.seed * 1_000_003 + number)
        with tempfile.TemporaryDirectory() as folder:
            environment = {}
            if r.randrange(4) == 0:
                name, path, arguments, environment = other_mutant(r, folder)
                made = ["another file"]
            else:
                seed = r.choice(files)
                name, model = seed.name, onnx.load(seed, load_external_data=False)
                made = mutant(r, model)
                path = Path(folder) / "mutant.onnx"
                try:
                    path.write_bytes(model.SerializeToString())
                except ValueError:
                    return None
                arguments = [str(path), *r.choice(ARGUMENTS)]
            wrong = run(program, path, arguments, environment, args.slowdown)
            if wrong and args.keep:
                os.makedirs(args.keep, exist_ok=True)
                (Path(args.keep) / f"{number}.{path.name}").write_bytes(path.read_bytes())
            arguments = [word for word in arguments if word != str(path)]
        return number, name, made, arguments, wrong

    with ThreadPoolExecutor(args.j) as pool:
        for result in pool.map(one, range(args.n)):
            if result and result[4]:
                bad += 1
                number, name, made, arguments, wrong = result
                print(f"{number}: {name} {'+'.join(made)} {' '.join(arguments)}: {'; '.join(wrong)}", flush=True)
    print(f"{args.n} mutants, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
