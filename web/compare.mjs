// Two or more runs beside each other on one scale of bytes, and what changed at the peak, category by category.
import {colourKey, element, layeredCanvas, svgElement} from "./dom.mjs";
import {formatBytes, formatShare} from "./format.mjs";
import {legendOf} from "./legend.mjs";
import {bottomToTop, bytesPerStep} from "./series.mjs";
import {drawOutline, drawStack} from "./stack.mjs";
import {BYTES, CHART_LEFT, CHART_RIGHT, drawPhases} from "./steps.mjs";
import {drawByteAxis, drawPeak} from "./timeline.mjs";

const COMPARE_HEIGHT = 260;
const COMPARE_TOP = 24;
const COMPARE_BOTTOM = 26;

// Runs that are compared: the first is the base of the others. Of a run that belongs to none, itself.
export function groupOf(runs, run) {
  const base = run.base === null ? run : runs[run.base];
  return [base, ...runs.filter((other) => other.base !== null && runs[other.base] === base)];
}

// Bytes at the peak of each run by category, and the change of each from the first, largest change first. Categories that
// none has are left out.
export function changesByCategory(runs, allSeries) {
  const rows = [];
  for (const c of bottomToTop(allSeries[0].byCategory.length)) {
    const bytes = runs.map((run, i) => (allSeries[i].byCategory[c] || [])[run.peakStep] || 0);
    if (bytes.some((of) => of > 0)) rows.push({category: c, bytes, changes: bytes.slice(1).map((of) => of - bytes[0])});
  }
  const most = (row) => Math.max(0, ...row.changes.map(Math.abs));
  return rows.sort((a, b) => most(b) - most(a));
}

function signed(bytes) {
  return bytes === 0 ? "0" : (bytes > 0 ? "+" : "−") + formatBytes(Math.abs(bytes));
}

// A bar to the right of the middle for more, to the left for less.
function changeBar(category, change, most) {
  const width = most === 0 ? 0 : 50 * Math.abs(change) / most;
  return svgElement("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
                    svgElement("rect", {class: "c" + category, x: change < 0 ? 50 - width : 50, width, height: 10}),
                    svgElement("path", {class: "line-soft", d: "M50 0v10", "vector-effect": "non-scaling-stroke"}));
}

function changesTable(view, runs, allSeries) {
  const rows = changesByCategory(runs, allSeries);
  const most = Math.max(0, ...rows.flatMap((row) => row.changes.map(Math.abs)));
  const several = runs.length > 2;
  const number = (text) => element("td", {class: "n"}, text);
  const share = (of, from) => " (" + ((of > 0 ? "+" : "−") + formatShare(Math.abs(of), from)).replace(/.</, "<") + ")";
  const change = (of, from) => number(signed(of) + (from > 0 && of !== 0 && !several ? share(of, from) : ""));
  const total = {bytes: runs.map((run) => run.peakBytes), changes: runs.slice(1).map((run) => run.peakBytes - runs[0].peakBytes)};
  const sides = runs.map((_, i) => (i === 0 ? "base" : several ? "head " + i : "head"));
  const row = (head, {bytes, changes}, kind, bar) => element("tr", {class: kind}, element("th", {scope: "row"}, ...head),
      ...bytes.map((of) => number(of === 0 ? "-" : formatBytes(of))), ...changes.map((of) => change(of, bytes[0])),
      ...(several ? [] : [element("td", {class: "share"}, ...bar)]));
  return element("table", {class: "parts"}, element("caption", {}, "What changed, at the peaks"),
      element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "category"),
          ...sides.map((side) => element("th", {scope: "col", class: "n"}, side)),
          ...sides.slice(1).map((side) => element("th", {scope: "col", class: "n"}, several ? side + ", change" : "change")),
          ...(several ? [] : [element("td", {class: "share"})]))),
      element("tbody", {}, ...rows.map((of) => row([colourKey(of.category), view.categories[of.category]], of, "",
                                                   [changeBar(of.category, of.changes[0], most)])),
              row(["tensors at the peak"], total, "sum", [])));
}

export function makeCompare(view, choose) {
  const section = view.part("compare");
  section.hidden = false;
  const bottom = COMPARE_HEIGHT - COMPARE_BOTTOM;
  let group = [];
  let sides = [];

  const makeSide = (run, i, allSeries) => {
    const series = allSeries[i];
    const most = 1.06 * Math.max(1, ...allSeries.map((of) => of.most));
    const side = i === 0 ? "base" : group.length > 2 ? "head " + i : "head";
    const chart = element("div", {class: "chart"});
    const title = element("button", {type: "button", class: "link", onclick: () => choose(run)},
                          element("bdi", {}, run.name));
    const figure = element("figure", {class: "side"}, element("figcaption", {}, element("b", {}, side + " "), title), chart);
    const draw = (context, size) => {
      const {colours} = view;
      const y = (bytes) => bottom - (bottom - COMPARE_TOP) * bytes / most;
      const place = {left: CHART_LEFT, width: Math.max(1, size.width - CHART_LEFT - CHART_RIGHT), y};
      drawByteAxis(context, size, most, y, colours);
      drawStack(context, series, [0, run.steps.count], place, colours);
      if (i > 0) drawOutline(context, allSeries[0].total, place, colours.text);
      drawPhases(context, {run, from: 0, to: run.steps.count}, size, colours, COMPARE_TOP, bottom);
      const x = CHART_LEFT + place.width * (run.peakStep + 0.5) / run.steps.count;
      drawPeak(context, size, x, y(run.peakBytes), run.peakBytes, colours);
    };
    const words = run.name + ": bytes alive at each of " + run.steps.count + " steps, peak " + formatBytes(run.peakBytes) +
                  " at step " + (run.peakStep + 1);
    const layers = layeredCanvas(chart, COMPARE_HEIGHT, {role: "img", tabindex: "-1", "aria-label": words}, draw, () => {});
    layers.over.addEventListener("click", () => choose(run));
    return {run, figure, title, layers};
  };

  const show = () => {
    group = groupOf(view.data.runs, view.run);
    const allSeries = group.map((run) => bytesPerStep(run, view.categories.length));
    sides = group.map((run, i) => makeSide(run, i, allSeries));
    const used = bottomToTop(view.categories.length).filter((c) => allSeries.some((series) => series.byCategory[c].some((bytes) => bytes > 0)));
    view.part("compare-sides").replaceChildren(...sides.map((side) => side.figure));
    view.part("compare-changes").replaceChildren(changesTable(view, group, allSeries));
    view.part("compare-marks").replaceChildren(legendOf([...used.map((c) => [colourKey(c), view.categories[c]]),
        ["outline", "the base, stretched to the steps of the head"], ["peak", "peak"], ["phase", "begin of a phase"]]));
    view.part("compare-body").classList.toggle("several", group.length > 2);
    sides.forEach((side) => side.layers.redraw());
  };
  return {
    layers: {redrawOver: () => {}, redrawNow: () => sides.forEach((side) => side.layers.redrawNow())},
    newRun: () => {
      if (!group.includes(view.run)) show();
      for (const side of sides) {
        side.figure.classList.toggle("shown", side.run === view.run);
        side.title.setAttribute("aria-pressed", String(side.run === view.run));
      }
    },
    update: (level) => {
      if (level >= BYTES) sides.forEach((side) => side.layers.redraw());
    },
  };
}
