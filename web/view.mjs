// One view (which run, which steps, what is chosen) that all pictures of a page show.
import {colourKey, element, readColours} from "./dom.mjs";
import {showTensor} from "./lifetimes.mjs";
import {BOTTOM_TO_TOP, bytesPerStep} from "./series.mjs";
import {showStep} from "./timeline.mjs";

export function makeView(root, data) {
  const view = {
    root, part: (id) => root.querySelector("#" + id),
    categories: data.categories, run: data.runs[0],
    base: null,   // the run that this one is compared with
    basePeak: 0,  // a line to compare with, and what it is
    baseWords: data.plans.length > 0 ? "peak without a plan " : "peak of the base ",
    from: 0, to: 1,              // the steps that are shown
    step: 0, hoverStep: null,    // chosen; under the pointer
    buffer: null, hoverBuffer: null,
    hidden: new Set(),           // categories
    brush: null,                 // pixels that are being dragged over
    series: null, allBytes: null, colours: readColours(root),
    charts: [],
  };
  const sum = () => {
    view.series = bytesPerStep(view.run, view.categories.length, view.hidden);
    view.series.most = view.series.total.reduce((most, bytes) => Math.max(most, bytes), 0);
  };
  // `whole`: else the pictures stand and only what is marked on them has changed.
  view.redraw = (whole = true) => view.charts.forEach((chart) => chart.update && chart.update(whole));
  view.pointerMoved = () => view.charts.forEach((chart) => chart.layers && chart.layers.redrawOver());
  view.zoomTo = (from, to) => {
    view.from = from;
    view.to = to;
    view.redraw();
  };
  view.goTo = (step) => {
    view.step = Math.max(0, Math.min(view.run.steps.count - 1, step));
    const outside = view.step < view.from || view.step >= view.to;
    if (outside) {
      const length = view.to - view.from;
      view.from = Math.max(0, Math.min(view.run.steps.count - length, view.step - Math.floor(length / 2)));
      view.to = view.from + length;
    }
    showStep(view);
    view.redraw(outside);
  };
  // `show`: bring its description into sight.
  view.select = (buffer, show = false) => {
    view.buffer = buffer;
    showTensor(view);
    view.redraw(false);
    if (show) view.part("tensor-detail").scrollIntoView({block: "center"});
  };
  view.toggle = (category) => {
    view.hidden.has(category) ? view.hidden.delete(category) : view.hidden.add(category);
    sum();
    view.redraw();
  };
  view.recolour = () => {
    view.colours = readColours(root);
    view.redraw();
  };
  view.setRun = (run, basePeak = 0) => {
    view.run = run;
    view.base = data.plans.length === 0 && run.base !== null ? data.runs[run.base] : null;
    view.basePeak = basePeak;
    view.from = 0;
    view.to = run.steps.count;
    view.buffer = null;
    view.hoverBuffer = view.hoverStep = null;
    view.allBytes = bytesPerStep(run, view.categories.length).total;
    sum();
    showLegend(view);
    view.charts.forEach((chart) => chart.newRun && chart.newRun());
    showTensor(view);
    view.goTo(run.peakStep);
    view.redraw();
  };
  return view;
}

function showLegend(view) {
  const all = bytesPerStep(view.run, view.categories.length);
  const used = BOTTOM_TO_TOP.filter((c) => all.byCategory[c].some((bytes) => bytes > 0));
  view.part("legend").replaceChildren(...used.map((c) => {
    const input = element("input", {type: "checkbox", onchange: () => view.toggle(c)});
    input.checked = !view.hidden.has(c);
    return element("label", {}, input, colourKey(c), element("span", {}, view.categories[c]));
  }));
}
