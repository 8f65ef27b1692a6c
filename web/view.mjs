// One view (which run, which steps, what is chosen, searched and hidden) that all pictures of a page show.
import {colourKey, element, readColours} from "./dom.mjs";
import {fragmentOf} from "./fragment.mjs";
import {searchRun, stepsFound} from "./search.mjs";
import {bottomToTop, bytesPerStep, zoomed} from "./series.mjs";
import {showStep, showTensor} from "./step_detail.mjs";
import {BYTES, MARKS, WINDOW} from "./steps.mjs";

const QUIET_MS = 200;  // before the view is handed out: browsers refuse addresses that change at every frame

function emptyView(root, data) {
  return {
    root, part: (id) => root.querySelector("#" + id), data,
    categories: data.categories, run: data.runs[0],
    base: null,   // the run that this one is compared with
    basePeak: 0,  // a line to compare with, and what it is
    baseWords: data.plans.length > 0 ? "peak without a plan" : "peak of the base",
    plan: null,                  // the id of the plan that is shown
    rank: 0,                     // which of its ranks
    from: 0, to: 1,              // the steps that are shown
    step: 0, hoverStep: null,    // chosen; under the pointer
    buffer: null, hoverBuffer: null,
    hidden: new Set(),           // categories
    query: "", found: null,      // {tensors, modules, operators, steps}
    brush: null,                 // pixels that are being dragged over
    area: "", module: "",        // what the treemap measures, and the module that it shows
    series: null, foundSeries: null, allBytes: null, colours: readColours(root, data.categories.length),
    charts: [],
  };
}

// What of the view a fragment keeps: what the page would not show by itself.
function keptOf(view) {
  const {run, data} = view;
  const whole = view.from === 0 && view.to === run.steps.count;
  const first = data.plans.find((plan) => plan.chosen) || data.plans[0];
  return {
    run: (data.plans.length > 0 ? view.rank : data.runs.indexOf(run)) || null,
    plan: first && view.plan !== first.id ? view.plan : null,
    from: whole ? null : view.from, to: view.to,
    step: view.step === run.peakStep ? null : view.step,
    tensor: view.buffer, find: view.query.trim(), hide: [...view.hidden].sort((a, b) => a - b),
    area: view.area, module: view.module,
  };
}

function showLegend(view) {
  const used = bottomToTop(view.categories.length).filter((c) => view.allSeries.byCategory[c].some((bytes) => bytes > 0));
  view.part("legend").replaceChildren(...used.map((c) => {
    const input = element("input", {type: "checkbox", onchange: () => view.toggle(c)});
    input.checked = !view.hidden.has(c);
    return element("label", {}, input, colourKey(c), element("span", {}, view.categories[c]));
  }));
}

function addMoves(view) {
  const count = () => view.run.steps.count;
  view.zoomTo = (from, to) => {
    view.from = Math.max(0, Math.min(from, count() - 1));
    view.to = Math.max(view.from + 1, Math.min(to, count()));
    view.redraw(WINDOW);
  };
  view.zoomBy = (factor) => view.zoomTo(...zoomed(view.from, view.to, view.step, factor, count()));
  view.panBy = (steps) => {
    const length = view.to - view.from;
    const from = Math.max(0, Math.min(count() - length, Math.round(view.from + steps)));
    view.zoomTo(from, from + length);
  };
  view.goTo = (step) => {
    view.step = Math.max(0, Math.min(count() - 1, step));
    const outside = view.step < view.from || view.step >= view.to;
    if (outside) {
      const length = view.to - view.from;
      view.from = Math.max(0, Math.min(count() - length, view.step - Math.floor(length / 2)));
      view.to = view.from + length;
    }
    showStep(view);
    view.redraw(outside ? WINDOW : MARKS);
  };
}

function addChoices(view) {
  const sum = () => {
    view.series = view.hidden.size === 0 ? view.allSeries : bytesPerStep(view.run, view.categories.length, view.hidden);
    view.foundSeries = view.found === null || view.found.tensors.length === 0
        ? null : bytesPerStep(view.run, view.categories.length, view.hidden, view.found.tensors);
  };
  const seek = () => {
    const found = searchRun(view.run, view.query);
    view.found = found && {...found, steps: stepsFound(found), has: new Set(found.tensors)};
  };
  // `show`: bring its description into sight.
  view.select = (buffer, show = false) => {
    view.buffer = buffer;
    showTensor(view);
    view.redraw(MARKS);
    if (show) view.part("tensor-detail").scrollIntoView({block: "center"});
  };
  view.toggle = (category) => {
    view.hidden.has(category) ? view.hidden.delete(category) : view.hidden.add(category);
    sum();
    view.redraw(BYTES);
  };
  view.search = (query) => {
    view.query = query;
    seek();
    sum();
    view.charts.forEach((chart) => chart.newSearch && chart.newSearch());
    view.redraw(BYTES);
  };
  view.setRun = (run, basePeak = 0) => {
    view.run = run;
    view.base = view.data.plans.length === 0 && run.base !== null ? view.data.runs[run.base] : null;
    view.basePeak = basePeak;
    view.from = 0;
    view.to = run.steps.count;
    view.buffer = null;
    view.hoverBuffer = view.hoverStep = null;
    view.allSeries = bytesPerStep(run, view.categories.length);
    view.allBytes = view.allSeries.total;
    seek();
    sum();
    showLegend(view);
    view.charts.forEach((chart) => chart.newRun && chart.newRun());
    view.charts.forEach((chart) => chart.newSearch && chart.newSearch());
    showTensor(view);
    view.goTo(run.peakStep);
    view.redraw(BYTES);
  };
}

// `onView`: called with a fragment when the view has changed.
export function makeView(root, data, onView) {
  const view = emptyView(root, data);
  let waiting = 0;
  let last = "";
  view.changed = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const fragment = fragmentOf(keptOf(view));
      if (fragment === last) return;
      last = fragment;
      if (onView !== null) onView(fragment);
    }, QUIET_MS);
  };
  view.close = () => clearTimeout(waiting);
  view.redraw = (level) => {
    view.charts.forEach((chart) => chart.update && chart.update(level));
    view.changed();
  };
  view.pointerMoved = () => view.charts.forEach((chart) => chart.layers && chart.layers.redrawOver());
  addMoves(view);
  addChoices(view);
  view.recolour = () => {
    view.colours = readColours(root, data.categories.length);
    view.charts.forEach((chart) => chart.layers && chart.layers.redrawNow());  // at once: paper does not wait
  };
  return view;
}
