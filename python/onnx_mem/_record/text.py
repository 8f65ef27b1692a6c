"""Records <-> text, format `eager 1`. from_text(to_text(r)) == r. The grammar is in docs/reference/record-format.md.

Beyond the operators, lines say where a function of the user's begins and ends and what its backward runs, which part is
checkpointed, and which value is the loss:

    function CLASS / endfunction %saved ... [held %value ...]
    backward %gradient TYPE of %output[, ...] / endbackward %gradient to %input[, ...]
    checkpoint [reentrant] %value ... / endcheckpoint
    loss %value
"""
from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any, NoReturn

from ..errors import Error
from .record import Free, Record
from .sizes import size_of, terms_of

FIRST_LINE = "eager 1"
WORDS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64", "complex128": "c128"}
DTYPES = {w: d for d, w in WORDS.items()}

_TERM = re.compile(r"(-|\+|^)(\d+(?:/\d+)?)?(B?)(SS|S|R|)")
_ORDER = ("SS", "S", "R", "")


def number(x: Any) -> str:
    """A size as the text has it."""
    text, terms = "", terms_of(x)
    for b in (1, 0):
        for of in _ORDER:
            f, letters = terms.get((b, of), 0), "B" * b + of
            if f:
                text += "-" if f < 0 else "+" if text else ""
                text += letters if letters and abs(f) == 1 else f"{abs(f)}{letters}"
    return text or "0"


def _size(word: str) -> Any:
    """What number() wrote. Raises ValueError."""
    terms, at = {}, 0
    while at < len(word):
        term = _TERM.match(word, at)
        if term is None or not (term[2] or term[3] or term[4]) or at and not term[1]:
            raise ValueError(word)
        key = (len(term[3]), term[4])
        if key in terms:
            raise ValueError(word)
        terms[key] = Fraction(term[2] or "1") * (-1 if term[1] == "-" else 1)
        at = term.end()
    made = size_of({key: f for key, f in terms.items() if f})
    if made is None or not word:
        raise ValueError(word)
    return made


def _times(a: Any, b: Any) -> Any:
    """Product of two sizes, None where it is none."""
    product: dict[tuple[int, str], Any] = {}
    for (b1, of1), f in terms_of(a).items():
        for (b2, of2), g in terms_of(b).items():
            key = (b1 + b2, of1 + of2)
            product[key] = product.get(key, 0) + f * g
    return size_of({key: f for key, f in product.items() if f})


def row_major(shape: Any) -> Any:
    strides, step = [], 1
    for d in reversed(shape):
        if step is None:
            return None
        strides.insert(0, step)
        step = _times(step, d)
    return strides


def _type(v: Any) -> Any:
    text = WORDS.get(v["dtype"], v["dtype"]) + "[" + ",".join(map(number, v["shape"])) + "]"
    if v["strides"] != row_major(v["shape"]):
        text += "/[" + ",".join(map(number, v["strides"])) + "]"
    if v["offset"] != 0:
        text += "+" + number(v["offset"])
    if v["device"] != "cuda":
        text += ":" + v["device"]
    return text + (f" ^%{v['root']}" if v["root"] is not None else "")


def _arg(a: Any) -> Any:
    if a is None:
        return "-"
    if a is True or a is False:
        return "T" if a else "F"
    if isinstance(a, str):
        return json.dumps(a)
    if isinstance(a, float):
        return repr(a)
    if isinstance(a, complex):
        return repr(a).strip("()")
    if isinstance(a, list):
        return "[" + ",".join(map(_arg, a)) + "]"
    if isinstance(a, dict) and a.keys().isdisjoint(("B", "S")):
        (kind, x), = a.items()
        return {"v": f"%{x}", "dtype": WORDS.get(x, x), "device": f"@{x}", "enum": f"!{x}"}[kind]
    return number(a)


def _word(name: str) -> str:
    """A name that stands before a space."""
    return name.replace("%", "%25").replace(" ", "%20")


def _name(word: str) -> str:
    return word.replace("%20", " ").replace("%25", "%")


def to_text(record: Record) -> str:
    """The whole record; ends with a line feed."""
    lines = [FIRST_LINE, f"torch {record.torch_version}"]
    if record.free is not None:
        f = record.free
        lines.append(f"free S {f.name} {f.length} step {f.step} seen {f.first} {f.last}")
    if record.batches != (1, None):
        lines.append("batches " + " ".join(str(n) for n in record.batches if n is not None))
    for mode, p in record.programs.items():
        if mode == "step":
            lines += _step_lines(p)
            continue
        lines.append(f"program {mode}")
        values: list[Any] = p["values"]
        known = set()
        for i, v in enumerate(values):
            if v["kind"] in ("value", "gradient"):
                continue
            known.add(i)
            name = "" if v["name"] is None else " " + _word(v["name"])
            lines.append(f"%{i} {v['kind']}{name} {_type(v)}" + (" frozen" if v.get("trained") is False else ""))
            lines += [f"tied %{i} {other}" for other in v.get("tied", [])]
        depth = 0
        for x in p["lines"]:
            closes = not x.keys().isdisjoint(("ret", "endfunction", "endbackward", "endcheckpoint"))
            depth -= closes
            lines.append("  " * depth + _line(x, values, known))
            depth += not x.keys().isdisjoint(("call", "function", "backward", "checkpoint"))
        if p["loss"] is not None:
            lines.append(f"loss %{p['loss']}")
        lines.append(" ".join(["return"] + ["-" if v is None else f"%{v}" for v in p["returned"]]))
        lines.append(f"tree {p['tree']}")
    return "\n".join(lines) + "\n"


def _step_lines(step: Any) -> list[str]:
    lines = []
    for call, p in (("first", step["first"]), ("later", step)):
        lines.append(f"step {call} {step['parameters']}")
        lines += [" ".join(filter(None, ("op", x["phase"], x["op"], x["module"]))) for x in p["lines"]]
        lines += [f"{'cpu' if s['on_cpu'] else 'live'} {s['category']} {number(s['bytes'])} {s['begin']} {s['end']} "
                  f"{_word(s['module']) or '-'} {s['name']}".rstrip() for s in p["storages"]]
    return lines


def _values(values: Any) -> list[str]:
    return [f"%{v}" for v in values]


def _line(x: Any, values: Any, known: Any) -> str:
    if "op" in x:
        outs = []
        for o in x["outs"]:
            outs.append(f"%{o}" if o in known else f"%{o} {_type(values[o])}")
            known.add(o)
        words = [", ".join(outs) + (" = " if outs else "= ") + x["op"]] + [_arg(a) for a in x["args"]]
        words += [f"{k}={_arg(a)}" for k, a in x["kwargs"].items()]
        return " ".join(words + (["drop", *_values(x["drops"])] if x["drops"] else []))
    if "call" in x:
        return f"call {x['call']}"
    if "grad" in x:
        return f"grad {'on' if x['grad'] else 'off'}"
    if "leaf" in x:
        return f"leaf %{x['leaf']}"
    if "function" in x:
        return f"function {x['function']}"
    if "endfunction" in x:
        held = ["held", *_values(x["held"])] if x["held"] else []
        return " ".join(["endfunction", *_values(x["endfunction"]), *held])
    if "backward" in x:
        known.update(g for g, _ in x["backward"])
        return "backward " + ", ".join(f"%{g} {_type(values[g])} of %{o}" for g, o in x["backward"])
    if "endbackward" in x:
        return "endbackward" + ",".join(f" %{g} to %{i}" for g, i in x["endbackward"])
    if "checkpoint" in x:
        return " ".join(["checkpoint"] + ["reentrant"] * x["reentrant"] + _values(x["checkpoint"]))
    return "ret" if "ret" in x else "endcheckpoint"


class _Line:
    def __init__(self, text: Any, number: Any) -> None:
        self.text, self.at, self.number = text, 0, number

    def fail(self, what: Any) -> NoReturn:
        raise Error(f"line {self.number}, column {self.at + 1}: expected {what}: {self.text[:100]}", "bad-record")

    def take(self, token: Any) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token: Any) -> None:
        if not self.take(token):
            self.fail(repr(token))

    def end(self) -> Any:
        return self.at >= len(self.text)

    def word(self, stop: Any = " ,]=^") -> Any:
        start = self.at
        while not self.end() and self.text[self.at] not in stop:
            self.at += 1
        if start == self.at:
            self.fail("a word")
        return self.text[start:self.at]

    def name(self) -> str:
        return _name(self.word(" "))

    def value(self) -> Any:
        self.expect("%")
        return int(self.word())

    def size(self, stop: Any = " ,]=^") -> Any:
        start = self.at
        word = self.word(stop)
        try:
            return _size(word)
        except (ValueError, ZeroDivisionError):
            self.at = start
            self.fail("a size")

    def numbers(self) -> Any:
        """What follows '[', to ']'."""
        out = []
        while not self.take("]"):
            out.append(self.size())
            self.take(",")
        return out

    def type(self) -> Any:
        v = dict(root=None)
        word = self.word("[")
        v["dtype"] = DTYPES.get(word, word)
        self.expect("[")
        v["shape"] = self.numbers()
        v["strides"] = self.numbers() if self.take("/[") else row_major(v["shape"])
        v["offset"] = self.size(" ,]=^:") if self.take("+") else 0
        v["device"] = self.word() if self.take(":") else "cuda"
        if self.take(" ^"):
            v["root"] = self.value()
        return v

    def arg(self) -> Any:
        c = self.text[self.at:self.at + 1]
        if c == "[":
            self.at += 1
            out = []
            while not self.take("]"):
                out.append(self.arg())
                self.take(",")
            return out
        if c == '"':
            x, self.at = json.JSONDecoder().raw_decode(self.text, self.at)
            return x
        if c == "%":
            return {"v": self.value()}
        word = self.word()
        if word in ("-", "T", "F"):
            return {"-": None, "T": True, "F": False}[word]
        if c in "@!":
            return {{"@": "device", "!": "enum"}[c]: word[1:]}
        if word in DTYPES:
            return {"dtype": DTYPES[word]}
        if word.endswith("j"):
            return complex(word)
        if not set("BSR") & set(word) and any(x in word for x in (".", "e", "inf", "nan")):
            return float(word)
        self.at -= len(word)
        return self.size()


def from_text(text: str) -> Record:
    """Reads what to_text wrote. Raises Error with code "bad-record" that names line and column."""
    programs, p, version, free, batches = {}, None, "", None, (1, None)
    for number, raw in enumerate(text.splitlines(), 1):
        line = _Line(raw.strip(), number)
        if number == 1:
            if line.text != FIRST_LINE:
                line.fail(f"'{FIRST_LINE}': made by a newer version?")
        elif line.take("torch "):
            version = line.text[6:]
        elif line.take("free "):
            free = _free(line)
        elif line.take("batches "):
            batches = _batches(line)
        elif line.take("program "):
            p = programs[line.text[8:]] = dict(values=[], lines=[], returned=[], tree="", loss=None)
        elif line.take("step "):
            p = _start_step(line, programs)
        elif p is None:
            line.fail("'program'")
        elif "storages" in p:
            _of_step(line, p)
        else:
            _statement(line, p)
    if not programs or "step" in programs and programs["step"].keys().isdisjoint(("first",)):
        raise Error("the record has no program", "bad-record")
    return Record(programs, version, free, batches)


def _start_step(line: _Line, programs: Any) -> Any:
    words = line.text.split(" ")
    if len(words) != 3 or words[1] not in ("first", "later") or not words[2].isdigit():
        line.fail("'first' or 'later', and how many parameters")
    made: dict[str, Any] = dict(lines=[], storages=[])
    whole = programs.setdefault("step", dict(parameters=int(words[2])))
    if words[1] == "later":
        whole.update(made)
        return whole
    return whole.setdefault("first", made)


def _of_step(line: _Line, p: Any) -> None:
    """op PHASE NAME [MODULE], or live (or cpu) CATEGORY BYTES BEGIN END [MODULE or - [NAME]]."""
    words = line.text.split(" ", 6)
    try:
        if words[0] == "op":
            p["lines"].append(dict(op=words[2], phase=words[1], module=" ".join(words[3:])))
        elif words[0] in ("live", "cpu"):
            module, name = [*words[5:], "", ""][:2]
            p["storages"].append(dict(category=words[1], bytes=_size(words[2]), begin=int(words[3]), end=int(words[4]),
                                      on_cpu=words[0] == "cpu", module="" if module == "-" else _name(module),
                                      name=name))
        else:
            line.fail("'op', 'live' or 'cpu'")
    except (ValueError, IndexError):
        line.fail("an operator or a storage")


def _batches(line: _Line) -> tuple[int, int | None]:
    words = line.text[8:].split(" ")
    if not 1 <= len(words) <= 2 or not all(w.isdigit() for w in words):
        line.fail("the first batch and the last")
    return int(words[0]), int(words[1]) if len(words) == 2 else None


def _free(line: _Line) -> Free:
    words = line.text.split()
    if len(words) != 9 or [words[1], words[4], words[6]] != ["S", "step", "seen"]:
        line.fail("'S NAME LENGTH step N seen FIRST LAST'")
    try:
        return Free(words[2], *(int(words[i]) for i in (3, 5, 7, 8)))
    except ValueError:
        line.fail("a number")


def _statement(line: _Line, p: Any) -> None:
    lines, text = p["lines"], line.text
    word = text.split(" ", 1)[0]
    if word == "call":
        lines.append(dict(call=text[5:]))
    elif word in ("ret", "endcheckpoint"):
        lines.append({word: True})
    elif word == "grad":
        lines.append(dict(grad=text == "grad on"))
    elif word == "leaf":
        lines.append(dict(leaf=int(text[6:])))
    elif word == "function":
        lines.append(dict(function=text[9:]))
    elif word == "endfunction":
        saved, _, held = text[11:].partition(" held ")
        lines.append(dict(endfunction=_numbers(saved), held=_numbers(held)))
    elif line.take("backward "):
        pairs = []
        while not line.end():
            at = line.value()
            line.expect(" ")
            _put(p, at, dict(kind="gradient", name=None, **line.type()))
            line.expect(" of ")
            pairs.append([at, line.value()])
            line.take(", ")
        lines.append(dict(backward=pairs))
    elif word == "endbackward":
        pairs = [part.split(" to ") for part in text[11:].split(",") if part]
        lines.append(dict(endbackward=[[int(a.strip()[1:]), int(b.strip()[1:])] for a, b in pairs]))
    elif word == "checkpoint":
        rest = text[10:].removeprefix(" reentrant")
        lines.append(dict(checkpoint=_numbers(rest), reentrant=text[11:].startswith("reentrant")))
    elif line.take("tied "):
        p["values"][line.value()]["tied"].append(text[line.at + 1:])
    elif word == "loss":
        p["loss"] = int(text[6:])
    elif word == "return":
        p["returned"] = [None if v == "-" else int(v[1:]) for v in text.split()[1:]]
    elif word == "tree":
        p["tree"] = text[5:]
    elif (words := text.split(" ", 2))[1:2] and words[1] in ("param", "buffer", "const", "input"):
        _declare(line, p)
    else:
        _operation(line, p)


def _numbers(text: str) -> list[int]:
    return [int(v[1:]) for v in text.split()]


def _declare(line: _Line, p: Any) -> None:
    at = line.value()
    line.expect(" ")
    v = dict(kind=line.word(" "), name=None)
    line.expect(" ")
    if v["kind"] != "const":
        v["name"] = line.name()
        line.expect(" ")
    v.update(line.type())
    if v["kind"] == "param":
        v["trained"] = not line.take(" frozen")
    if v["kind"] in ("param", "input"):
        v["tied"] = []
    _put(p, at, v)


def _put(p: Any, at: Any, v: Any) -> None:
    values = p["values"]
    while len(values) <= at:
        values.append(None)
    values[at] = v


def _operation(line: _Line, p: Any) -> None:
    x = dict(op=None, args=[], kwargs={}, outs=[], drops=[])
    while not line.take("= "):
        at = line.value()
        x["outs"].append(at)
        line.expect(" ")
        if not line.text.startswith("= ", line.at):
            if not line.text.startswith(",", line.at):
                _put(p, at, dict(kind="value", name=None, **line.type()))
                line.take(" ")
        line.take(", ")
    x["op"] = line.word(" ")
    while line.take(" "):
        if line.text.startswith("drop %", line.at):
            x["drops"] = [int(v[1:]) for v in line.text[line.at + 5:].split()]
            break
        name = None
        if line.text[line.at].isalpha():
            end = line.text.find("=", line.at)
            space = line.text.find(" ", line.at)
            if end > 0 and (space < 0 or end < space):
                name, line.at = line.text[line.at:end], end + 1
        if name is None:
            x["args"].append(line.arg())
        else:
            x["kwargs"][name] = line.arg()
    p["lines"].append(x)
