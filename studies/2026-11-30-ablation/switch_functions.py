#!/usr/bin/env python3
"""Gives every function of some rooms a switch, in a copy of the tree that is thrown away afterwards.

usage: studies/2026-11-30-ablation/switch_functions.py COPY ROOM ...        ROOM: analyzer/assume analyzer/lower ...

With ONNX_MEM_OFF=name,name the program built there returns what stands for "no" from these functions (false, nullopt,
an empty list, -1 in assume) and does nothing in those that return nothing. With ONNX_MEM_FIRED=FILE it writes of each
function that ran whether it ever said anything else. Names are "file:function", "#1" behind the second of a name. Functions
of templates and of bodies in headers have none. COPY/switches.txt lists all.
"""
import pathlib
import re
import sys

HEADER = """#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <type_traits>

#include "absl/status/status.h"

namespace switches {
struct Switch { const char* name; bool off, ran, fired; };
inline std::deque<Switch>& All() { static auto* all = new std::deque<Switch>; return *all; }
inline Switch& Register(const char* name) {
  static auto* lock = new std::mutex;
  std::lock_guard<std::mutex> hold(*lock);
  const char* list = std::getenv("ONNX_MEM_OFF");
  const size_t size = std::strlen(name);
  bool off = false;
  for (const char* p = list; p != nullptr && (p = std::strstr(p, name)) != nullptr; ++p)
    off |= (p == list || p[-1] == ',') && (p[size] == 0 || p[size] == ',');
  All().push_back({name, off, false, false});
  return All().back();
}
inline void Dump() {
  const char* path = std::getenv("ONNX_MEM_FIRED");
  FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  for (const Switch& s : All()) if (s.ran) std::fprintf(file, "%s %d\\n", s.name, s.fired);
  std::fclose(file);
}
template <class T> bool Says(const T& v) {
  if constexpr (std::is_same_v<T, bool>) return v;
  else if constexpr (std::is_arithmetic_v<T>) return v != T{} && v != static_cast<T>(-1);
  else if constexpr (std::is_pointer_v<T>) return v != nullptr;
  else if constexpr (requires { v.has_value(); }) return v.has_value();
  else if constexpr (requires { v.valid(); }) return v.valid();
  else return !v.empty();
}
template <class R, class F> R Ask(Switch& s, R no, F body) {
  s.ran = true;
  if (s.off) return no;
  R result = body();
  s.fired |= Says(result);
  return result;
}
}  // namespace switches
"""
NO_FUNCTION = re.compile(r"^\s*(return|if|for|while|switch|else|case|namespace|class|struct|enum|using|template|constexpr|"
                         r"static_assert|explicit|typedef|public|private|const auto|auto|throw|default|ROW|#)\b")
BEGIN = re.compile(r"^( {0,2})((?:static |inline )?)([A-Za-z_][\w:<>,\*& ]*?[\w>\*&])[ ]?((?<=[ \*&])|(?<= ))([A-Za-z_][\w:]*)\(")
SAYS = re.compile(r"^(bool|int32_t|int64_t|int|size_t|TensorId|NodeId|TensorIds|NodeIds|std::string|std::optional<.*>|"
                  r"std::vector<.*>|(const )?[\w:]+\*)$")
HEAD = re.compile(r"\)(?: const)?(?: override)?(?: final)?(?: noexcept)? \{$")
ONE_LINE = re.compile(r"^(.*\)(?: const)?(?: override)?(?: final)?) \{ (.*) \}$")


def body_of(lines, at, indent):
    """(lines of the head, of the body, index behind the end) of the function that begins at `at`; None if it is none."""
    one = ONE_LINE.search(lines[at])
    if one:
        return None if "=" in one.group(1) else ([one.group(1) + " {"], [one.group(2)], at + 1)
    last = at
    while not lines[last].endswith("{"):
        if lines[last].endswith((";", "}")) or not lines[last] or last - at > 8:
            return None
        last += 1
    head = lines[at:last + 1]
    if not HEAD.search(head[-1]) or any(re.search(r"(?<![=!<>])=(?!=)|\[[&=]?\]", line) for line in head):
        return None
    try:
        end = lines.index(indent + "}", last)
    except ValueError:
        return None
    return head, lines[last + 1:end], end + 1


def switched(name, kind, room, body):
    no = {"bool": "false"}.get(kind, "nullptr" if kind.endswith("*") else kind + "()")
    if kind in ("int32_t", "int64_t", "int") and "assume" in room:
        no = "-1"
    first = 'static auto& own_switch = ::switches::Register("%s");' % name
    if SAYS.match(kind):
        return [first, "return ::switches::Ask<%s>(own_switch, %s, [&]() -> %s {" % (kind, no, kind), *body, "});"]
    leave = {"void": "if (own_switch.off) return;", "absl::Status": "if (own_switch.off) return absl::OkStatus();"}
    return [first, "own_switch.ran = own_switch.fired = true;", leave.get(kind, ""), *body]


def switch_file(path, root, names):
    lines, out, at = path.read_text().split("\n"), [], 0
    while at < len(lines):
        begin = BEGIN.match(lines[at])
        plain = begin and not NO_FUNCTION.match(lines[at]) and "=" not in lines[at].split("(")[0]
        found = body_of(lines, at, begin.group(1)) if plain and "operator" not in lines[at] else None
        if not found:
            out.append(lines[at])
            at += 1
            continue
        head, body, at = found
        name = "%s:%s" % (path.relative_to(root), begin.group(5))
        count = sum(other.split("#")[0] == name for other in names)
        names.append(name + ("#%d" % count if count else ""))
        out += [*head, *switched(names[-1], begin.group(3).strip(), str(path), body), begin.group(1) + "}"]
    path.write_text('#include "switches.h"\n' + "\n".join(out))


def main():
    root, names = pathlib.Path(sys.argv[1]), []
    (root / "switches.h").write_text(HEADER)
    for room in sys.argv[2:]:
        for path in sorted((root / room).rglob("*.cc")):
            switch_file(path, root, names)
    program = root / "cli/main.cc"
    program.write_text('#include "switches.h"\n' + program.read_text().replace("  std::_Exit(", "  switches::Dump();\n  std::_Exit("))
    (root / "switches.txt").write_text("\n".join(names))


if __name__ == "__main__":
    main()
