"""An answer as a notebook shows it: a headline, a picture, tables. One piece of HTML without script, style sheet or
link; text and lines take the colour of the page around it, so that it reads on a dark one too."""
from __future__ import annotations

import html
import os
import re
import shlex
from collections.abc import Iterable
from typing import Any

from . import _ways_out

_LINES = {"grid": 'stroke="currentColor" stroke-opacity="0.15"',
          "phase": 'stroke="currentColor" stroke-opacity="0.6" stroke-dasharray="3 3"',
          "limit": 'stroke="#d9534f" stroke-dasharray="6 4"', "peak": 'stroke="currentColor"'}
_SVG = ('fill="currentColor" font-family="system-ui,sans-serif" font-size="12" '
        'style="display:block;width:100%;max-width:1080px;height:auto"')
_VERDICTS = {"fits": "fits", "may-fit": "may fit", "does-not-fit": "does not fit"}
_NONE = "-"


def size(count: int | None) -> str:
    """1.47 GiB, 512.0 MiB, 12 B."""
    if count is None:
        return _NONE
    for unit, bytes_of, digits in (("GiB", 2**30, 2), ("MiB", 2**20, 1), ("KiB", 2**10, 1)):
        if abs(count) >= bytes_of:
            return f"{count / bytes_of:.{digits}f} {unit}"
    return f"{count} B"


def shown(screen: str, body: str, picture: str) -> str:
    """The whole: `body` with the picture in the place of {picture}, and the screen to unfold."""
    colours = colours_of(picture)
    body = re.sub(r"\{swatch:([\w ]+)\}", lambda m: _swatch(colours.get(m[1].replace("_", " "))), body)
    return ('<div class="onnx-mem" style="line-height:1.5">' + body.replace("{picture}", inlined(picture)) +
            f'<details><summary>as text</summary><pre>{html.escape(screen)}</pre></details></div>')


def summary(found: dict[str, Any]) -> str:
    """One line of plain text: what was answered."""
    model = (found.get("model") or (found.get("base") or {}).get("model") or {}).get("path", "")
    parts = [f"of {os.path.basename(model)}"]
    run = next(iter(found.get("runs") or []), None) or found
    for part in ("training", "inference"):
        if run.get(part):
            parts.append(f"{part} {size(run[part].get('device_bytes'))}")
    if found.get("status"):
        parts.append(str(found["status"]))
    return ", ".join([*parts, *filter(None, [_VERDICTS.get(found.get("verdict") or "")])])


def answer(found: dict[str, Any]) -> str:
    """The body for one JSON answer."""
    return {"plan": _plan, "fit": _fit, "compare": _compare}.get(found.get("command", ""), _report)(found)


# -- the picture -------------------------------------------------------------------------------------------------------
def colours_of(picture: str) -> dict[str, str]:
    """Words of a category -> its colour in the picture."""
    fills = dict(re.findall(r"\.(c\d+)\{fill:(#\w+)\}", picture))
    named = re.findall(r'<polygon class="(c\d+)"[^>]*><title>([^<]*)</title>', picture)
    return {words: fills[kind] for kind, words in named if kind in fills}


def inlined(picture: str) -> str:
    """The program's SVG as a part of a page: no style sheet, which would hold for the whole page, and no background."""
    fills = dict(re.findall(r"\.(c\d+)\{fill:(#\w+)\}", picture))
    picture = re.sub(r"<style>.*?</style>\n?|<rect [^>]*fill=\"#fff\"/>\n?", "", picture, flags=re.S)
    picture = re.sub(r'<polygon class="(c\d+)" points="([^"]*)">(.*?)</polygon>',
                     lambda m: f'<path fill="{fills.get(m[1], "#888")}" d="{_path(m[2])}">{m[3]}</path>', picture)
    for kind, attributes in _LINES.items():
        picture = picture.replace(f'class="{kind}"', attributes)
    return picture.replace('class="static"', _SVG)


def _path(points: str) -> str:
    """A polygon of steps, whose sides are level or upright, as an SVG path: a third of the text."""
    corners = [point.split(",") for point in points.split()]
    if not corners:
        return ""
    out, (x, y), level = [f"M{corners[0][0]} {corners[0][1]}"], corners[0], ""
    for next_x, next_y in corners[1:]:
        if next_y == y and next_x != x:
            if level == "H":
                out.pop()                   # the same direction, longer
            out.append(f"H{next_x}")
            level = "H"
        elif next_x == x and next_y != y:
            out.append(f"V{next_y}")
            level = "V"
        elif next_x != x:
            out.append(f"L{next_x} {next_y}")
            level = "L"
        x, y = next_x, next_y
    return "".join(out).replace(".0", "") + "Z"


def _swatch(colour: str | None) -> str:
    fill = colour or "transparent"
    return f'<span style="display:inline-block;width:0.8em;height:0.8em;margin-right:0.5em;background:{fill}"></span>'


# -- tables ------------------------------------------------------------------------------------------------------------
def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """The first column is of words, the others of numbers."""
    def line(cells: Iterable[str], tag: str) -> str:
        sides = ("left", *["right"] * 30)
        style = "padding:0.1em 0.8em;text-align:"
        made = "".join(f'<{tag} style="{style}{side}">{cell}</{tag}>' for side, cell in zip(sides, cells, strict=False))
        return f"<tr>{made}</tr>"
    body = "".join(line(row, "td") for row in rows)
    return (f'<table style="border-collapse:collapse;margin:0.5em 0"><thead>{line(head, "th")}</thead>'
            f"<tbody>{body}</tbody></table>")


def _headline(found: dict[str, Any]) -> str:
    model = found.get("model") or {}
    bound = ", ".join(f"{name} {value}" for name, value in (found.get("bindings") or {}).items()
                      if value is not None)
    parts = [model.get("path", "").replace("\\", "/").rsplit("/", 1)[-1],
             f"{model['parameters'] / 1e6:,.1f} M parameters" if "parameters" in model else "", bound]
    return "<div>" + html.escape("   ".join(p for p in parts if p)) + "</div>"


def _range(interval: list[int] | None) -> str:
    return f"{size(interval[0])} to {size(interval[1])}" if interval and None not in interval else _NONE


def _keywords(flags: list[str]) -> str:
    return f"<code>{html.escape(_ways_out.as_keywords(shlex.join(flags)))}</code>"


def _verdict(verdict: str | None, before: str = "") -> str:
    return f"{before}<b>{_VERDICTS.get(verdict, verdict)}</b>" if verdict else ""


# -- answers -----------------------------------------------------------------------------------------------------------
def _report(found: dict[str, Any]) -> str:
    runs = found.get("runs") or []
    several = len(runs) > 1
    needs = [[f"{part}, batch {run.get('batch')}" if several else part, size(of.get("device_bytes")),
              _range(of.get("device_interval_bytes")), size(of.get("allocated_peak_bytes")), size(of.get("peak_bytes")),
              _verdict(of.get("verdict"))]
             for run in runs for part in ("training", "inference") if (of := run.get(part))]
    head = ["", "on the GPU", "low to high", "max_memory_allocated()", "alive at the peak", found.get("gpu") or ""]
    return (_headline(found) + _table(map(html.escape, head), needs) + "{picture}" +
            (_breakdown(runs[0]) if runs else "") + _savings(found.get("savings")))


def _breakdown(run: dict[str, Any]) -> str:
    parts = {name: run[name].get("breakdown", {}) for name in ("training", "inference") if run.get(name)}
    rows = []
    for category in dict.fromkeys(c for of in parts.values() for c in of):
        if any(of.get(category) for of in parts.values()):
            rows.append([f"{{swatch:{category}}}{html.escape(category.replace('_', ' '))}",
                         *(cell for of in parts.values() for cell in _share(of, category))])
    return _table(["alive at the peak", *(cell for name in parts for cell in (name, ""))], rows)


def _share(of: dict[str, int], category: str) -> tuple[str, str]:
    if category not in of:
        return _NONE, ""
    return size(of[category]), f"{of[category] / max(1, sum(of.values())):.0%}"


def _savings(savings: list[dict[str, Any]] | None) -> str:
    if not savings:
        return ""
    return _table(["less by", "saves", "on the GPU", "by"],
                  [[html.escape(s["change"]), size(s["saves_bytes"]), size(s["device_bytes"]),
                    _keywords(s["flags"])] for s in savings[:4]])


def _plan(found: dict[str, Any]) -> str:
    plans = [p for p in found.get("plans") or [] if not p.get("dominated") or p["id"] == found.get("chosen")]
    chosen = next((p for p in plans if p["id"] == found.get("chosen")), None)
    said = "no plan is within the budget" if chosen is None else f"chosen: {html.escape(chosen['label'])}"
    if found.get("budget_bytes") is not None:
        said += f", budget {size(found['budget_bytes'])}"
    rows = [[("<b>&#9656; </b>" if p is chosen else "") + html.escape(p["label"]), size(p["device_bytes"]),
             size(p["peak_bytes"]), f"{p['time_slowdown']:+.1%}", str(len(p["segments"]))] for p in plans]
    return (_headline(found) + f"<div><b>{said}</b>{_verdict(found.get('verdict'), ': ')}</div>" +
            _curve(plans, chosen, found.get("budget_bytes") if found.get("budget_on") == "device" else None) +
            _table(["plan", "on the GPU", "alive at the peak", "time", "segments"], rows))


def _curve(plans: list[dict[str, Any]], chosen: dict[str, Any] | None, budget: int | None) -> str:
    """Bytes on the GPU over the time that a plan adds, a point each, and the budget as a line."""
    if len(plans) < 2:
        return ""
    width, height, left, top = 560, 200, 70, 14
    most = 1.02 * max(p["device_bytes"] for p in plans)
    least = 0.9 * min(p["device_bytes"] for p in plans)
    longest = 1.05 * max([p["time_slowdown"] for p in plans] + [0.01])

    def y_of(count: float) -> float:
        return top + height * (most - count) / (most - least)

    def at(p: dict[str, Any]) -> tuple[float, float]:
        return left + width * p["time_slowdown"] / longest, y_of(p["device_bytes"])
    out = [f'<svg viewBox="0 0 {left + width + 20} {top + height + 40}" role="img" aria-label="Trade-off of '
           f'{len(plans)} plans" {_SVG.replace("1080px", "650px")}>']
    for tick in range(5):
        count = least + (most - least) * tick / 4
        y = y_of(count)
        out += [f'<line {_LINES["grid"]} x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}"/>',
                f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{size(round(count))}</text>']
        x = left + width * tick / 4 / 1.05
        label = f"{longest / 1.05 * tick / 4:+.0%}"
        out.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{label}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 36}" text-anchor="middle">time of a step</text>')
    if budget is not None and least < budget < most:
        y = y_of(budget)
        out += [f'<line {_LINES["limit"]} x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}"/>',
                f'<text x="{left + width}" y="{y - 4:.1f}" text-anchor="end">budget {size(budget)}</text>']
    for p in plans:
        (x, y), mark = at(p), p is chosen
        dot = 'r="6" fill="#d55e00"' if mark else 'r="4" fill="#0072b2"'
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" {dot}>'
                   f"<title>{html.escape(p['label'])}: {size(p['device_bytes'])}, {p['time_slowdown']:+.1%}</title>"
                   "</circle>")
    return "".join(out) + "</svg>"


def _fit(found: dict[str, Any]) -> str:
    parts = {name: found[name] for name in ("training", "inference") if found.get(name)}
    gpu = found.get("gpu") or {}
    rows = [[words, *(f"{of[key]:,}" if of.get(key) is not None else _NONE for of in parts.values())]
            for words, key in (("safe up to batch", "safe_batch"), ("expected to fit up to batch", "largest_batch"),
                               ("impossible from batch", "impossible_from"))]
    rows.insert(0, ["needs", *(size(of.get("device_bytes")) for of in parts.values())])
    rows.insert(1, ["", *(_range(of.get("device_interval_bytes")) for of in parts.values())])
    rows.insert(2, [html.escape(gpu.get("name") or "the card") + f" ({size(gpu.get('usable_bytes'))})",
                    *(_verdict(of.get("verdict")) for of in parts.values())])
    ways = [[html.escape(w["change"]), size(w["device_bytes"]), str(w["largest_batch"] or _NONE),
             html.escape(w["cost"]), _keywords(w["flags"])]
            for w in found.get("ways") or []]
    return (_headline(found) + _table(["", *parts], rows) +
            (_table(["what makes it fit", "on the GPU", "largest batch", "costs", "by"], ways) if ways else ""))


def _compare(found: dict[str, Any]) -> str:
    if not found.get("delta"):
        return _headline(found) + _table(
            ["", "predicted", "measured", "difference", "error"],
            [[html.escape(m["figure"]), size(m["predicted_bytes"]), size(m["measured_bytes"]),
              size(m["difference_bytes"]), f"{m['error']:+.1%}"] for m in found.get("measured") or []])
    sides = [found["base"], found["head"]]
    names = [html.escape(s["model"]["path"].rsplit("/", 1)[-1]) for s in sides]
    rows = []
    for part in ("training", "inference"):
        runs = [s["runs"][0].get(part) for s in sides]
        if found["delta"].get(part) and all(runs):
            for words, key in ((f"<b>{part}</b>, on the GPU", "device_bytes"), ("alive at the peak", "peak_bytes")):
                rows.append([words, *(size(r[key]) for r in runs), _signed(found["delta"][part][key])])
            rows += [[html.escape(c.replace("_", " ")), *(size(r["breakdown"].get(c)) for r in runs), _signed(d)]
                     for c, d in found["delta"][part]["breakdown"].items() if d]
    return _table(["", *names, "change"], rows)


def _signed(count: int) -> str:
    return ("+" if count > 0 else "") + size(count)
