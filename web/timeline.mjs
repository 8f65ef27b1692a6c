// The course of memory: bytes over the steps, stacked by category. Keys: arrows (with Shift ten steps), Home, End,
// P to the peak, + and - to zoom, 0 for all of it.
import {aliveAt, bufferName, PHASES, stepText} from "./data.mjs";
import {colourKey, element, layeredCanvas, makeTip} from "./dom.mjs";
import {byteTicks, formatBytes, formatCount, formatShare, formatTick, shorten} from "./format.mjs";
import {BOTTOM_TO_TOP, columnSteps, phaseSpans, zoomed} from "./series.mjs";

const TIMELINE_HEIGHT = 320;
export const CHART_LEFT = 66;
export const CHART_RIGHT = 8;
const TIMELINE_TOP = 24;
const TIMELINE_BOTTOM = 26;

// Step <-> pixel, the same for all charts over steps.
export function stepScale(view, width) {
  const inner = Math.max(1, width - CHART_LEFT - CHART_RIGHT);
  return {
    inner,
    x: (step) => CHART_LEFT + inner * (step - view.from) / (view.to - view.from),
    step: (x) => Math.min(view.to - 1, Math.max(view.from, Math.floor(view.from + (x - CHART_LEFT) / inner *
                                                                                   (view.to - view.from)))),
  };
}

// The steps that a pointer is drawn over, to look at them closer.
export function drawBrush(context, view, top, bottom) {
  if (!view.brush) return;
  context.fillStyle = view.colours.mark;
  context.globalAlpha = 0.2;
  context.fillRect(view.brush[0], top, view.brush[1] - view.brush[0], bottom - top);
  context.globalAlpha = 1;
}

// Bands of the phases, and their names below.
export function drawPhases(context, view, size, colours, top, bottom) {
  const scale = stepScale(view, size.width);
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const span of phaseSpans(view.run)) {
    const from = Math.max(span.from, view.from);
    const to = Math.min(span.to, view.to);
    if (from >= to) continue;
    const [x0, x1] = [scale.x(from), scale.x(to)];
    if (span.from > view.from) {
      context.strokeStyle = colours.soft;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(Math.round(x0) + 0.5, top);
      context.lineTo(Math.round(x0) + 0.5, bottom + 6);
      context.stroke();
      context.setLineDash([]);
    }
    const name = PHASES[span.phase];
    if (x1 - x0 > context.measureText(name).width + 12) {
      context.fillStyle = colours.soft;
      context.fillText(name, (x0 + x1) / 2, bottom + 18);
    }
  }
}

// Pointer and keys that every chart over steps has. `pick(x, y)` is called for a click.
export function addStepControls(view, layers, hover, pick) {
  const canvas = layers.over;
  let dragFrom = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (dragFrom !== null) view.brush = [dragFrom, x];
    hover(x, y);
  });
  canvas.addEventListener("pointerleave", () => {
    if (dragFrom === null) hover(null, null);
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) {
      dragFrom = at(event)[0];
      canvas.setPointerCapture(event.pointerId);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = at(event);
    const from = dragFrom;
    dragFrom = null;
    view.brush = null;
    const scale = stepScale(view, layers.size.width);
    if (from !== null && Math.abs(x - from) > 8) {
      const [a, b] = [scale.step(Math.min(x, from)), scale.step(Math.max(x, from)) + 1];
      if (b - a >= 2) return view.zoomTo(a, b);
    }
    pick(x, y);
  });
  canvas.addEventListener("dblclick", () => view.zoomTo(0, view.run.steps.count));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls
    event.preventDefault();
    const around = stepScale(view, layers.size.width).step(at(event)[0]);
    view.zoomTo(...zoomed(view.from, view.to, around, event.deltaY > 0 ? 1.25 : 0.8, view.run.steps.count));
  }, {passive: false});
  canvas.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 : 1;
    const zoom = (factor) => view.zoomTo(...zoomed(view.from, view.to, view.step, factor, view.run.steps.count));
    const keys = {
      ArrowLeft: () => view.goTo(view.step - far),
      ArrowRight: () => view.goTo(view.step + far),
      ArrowDown: () => view.goTo(view.step - far),
      ArrowUp: () => view.goTo(view.step + far),
      PageUp: () => view.goTo(view.step - 10),
      PageDown: () => view.goTo(view.step + 10),
      Home: () => view.goTo(0),
      End: () => view.goTo(view.run.steps.count - 1),
      p: () => view.goTo(view.run.peakStep),
      P: () => view.goTo(view.run.peakStep),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      0: () => view.zoomTo(0, view.run.steps.count),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
}

export function zoomButtons(view) {
  const button = (text, label, act) => element("button", {type: "button", "aria-label": label, onclick: act}, text);
  const zoom = (factor) => view.zoomTo(...zoomed(view.from, view.to, view.step, factor, view.run.steps.count));
  return element("div", {class: "zoom"}, button("+", "Zoom in", () => zoom(0.5)),
                 button("−", "Zoom out", () => zoom(2)),
                 button("Peak", "Go to the peak", () => view.goTo(view.run.peakStep)),
                 button("All", "Show all steps", () => view.zoomTo(0, view.run.steps.count)));
}

function tipRows(view, step) {
  const text = stepText(view.run, step);
  const rows = [element("b", {}, formatBytes(view.series.total[step]) + " at step " + formatCount(step + 1)),
                element("div", {class: "soft"}, text.phase + ": " + text.op)];
  if (text.where) rows.push(element("div", {class: "soft"}, shorten(text.where, 60)));
  for (const c of [...BOTTOM_TO_TOP].reverse()) {
    const bytes = view.series.byCategory[c][step];
    if (bytes > 0) {
      rows.push(element("div", {class: "row"}, colourKey(c), element("span", {}, view.categories[c]),
                        element("span", {class: "n"}, formatBytes(bytes))));
    }
  }
  return rows;
}

export function stepInWords(view, step) {
  const text = stepText(view.run, step);
  return "step " + (step + 1) + " of " + view.run.steps.count + ", " + text.phase + ", " + text.op +
         (text.where ? " in " + text.where : "") + ", " + formatBytes(view.series.total[step]) + " alive";
}

export function makeTimeline(view) {
  const parent = view.part("timeline-chart");
  const bottom = TIMELINE_HEIGHT - TIMELINE_BOTTOM;
  const most = () => {
    const {limitBytes, peakBytes} = view.run;
    const limit = limitBytes > 0 && limitBytes < 4 * peakBytes ? limitBytes : 0;
    return 1.06 * Math.max(1, limit, view.basePeak || 0, ...view.run.peakBytes > 0 ? [view.series.most] : []);
  };
  const y = (bytes) => bottom - (bottom - TIMELINE_TOP) * bytes / most();

  const level = (context, size, bytes, text, colour) => {
    context.strokeStyle = colour;
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(CHART_LEFT, Math.round(y(bytes)) + 0.5);
    context.lineTo(size.width - CHART_RIGHT, Math.round(y(bytes)) + 0.5);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colour;
    context.textAlign = "right";
    context.fillText(text, size.width - CHART_RIGHT - 2, y(bytes) - 5);
  };

  const draw = (context, size) => {
    const colours = view.colours;
    const scale = stepScale(view, size.width);
    const pixels = Math.max(1, Math.round(scale.inner));
    const steps = columnSteps(view.series.total, view.from, view.to, pixels);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of byteTicks(most())) {
      context.strokeStyle = colours.line;
      context.beginPath();
      context.moveTo(CHART_LEFT, Math.round(y(tick)) + 0.5);
      context.lineTo(size.width - CHART_RIGHT, Math.round(y(tick)) + 0.5);
      context.stroke();
      context.fillStyle = colours.soft;
      context.fillText(formatTick(tick), CHART_LEFT - 8, y(tick));
    }
    const below = new Float64Array(pixels);
    for (const c of BOTTOM_TO_TOP) {
      const bytes = view.series.byCategory[c];
      context.beginPath();
      context.moveTo(CHART_LEFT, y(below[0]));
      for (let i = 0; i < pixels; ++i) {
        const top = y(below[i] + bytes[steps[i]]);
        context.lineTo(CHART_LEFT + i, top);
        context.lineTo(CHART_LEFT + i + 1, top);
      }
      for (let i = pixels - 1; i >= 0; --i) {
        context.lineTo(CHART_LEFT + i + 1, y(below[i]));
        context.lineTo(CHART_LEFT + i, y(below[i]));
        below[i] += bytes[steps[i]];
      }
      context.fillStyle = colours.categories[c];
      context.fill();
    }
    context.textBaseline = "alphabetic";
    drawPhases(context, view, size, colours, TIMELINE_TOP, bottom);
    const run = view.run;
    if (run.limitBytes > 0 && run.limitBytes < 4 * run.peakBytes) {
      level(context, size, run.limitBytes, "limit for tensors " + formatBytes(run.limitBytes), colours.limit);
    }
    if (view.basePeak && view.basePeak !== run.peakBytes) {
      level(context, size, view.basePeak, view.baseWords + formatBytes(view.basePeak), colours.soft);
    }
    if (view.from <= run.peakStep && run.peakStep < view.to && view.hidden.size === 0) {
      const x = (scale.x(run.peakStep) + scale.x(run.peakStep + 1)) / 2;
      context.fillStyle = colours.text;
      context.beginPath();
      context.moveTo(x, y(run.peakBytes) - 1);
      context.lineTo(x - 4, y(run.peakBytes) - 8);
      context.lineTo(x + 4, y(run.peakBytes) - 8);
      context.fill();
      context.font = "600 12px system-ui, sans-serif";
      context.textAlign = x > size.width / 2 ? "right" : "left";
      const label = ["peak " + formatBytes(run.peakBytes), x + (x > size.width / 2 ? -8 : 8),
                     Math.max(12, y(run.peakBytes) - 7)];
      context.strokeStyle = colours.surface;  // a halo, so that no line crosses the words
      context.lineWidth = 4;
      context.strokeText(...label);
      context.lineWidth = 1;
      context.fillText(...label);
    }
  };

  const drawOver = (context, size) => {
    const scale = stepScale(view, size.width);
    drawBrush(context, view, TIMELINE_TOP, bottom);
    for (const [step, colour] of [[view.step, view.colours.text], [view.hoverStep, view.colours.soft]]) {
      if (step === null || step < view.from || step >= view.to) continue;
      const x = (scale.x(step) + scale.x(step + 1)) / 2;
      context.strokeStyle = colour;
      context.beginPath();
      context.moveTo(x, TIMELINE_TOP);
      context.lineTo(x, bottom);
      context.stroke();
    }
  };

  const layers = layeredCanvas(parent, TIMELINE_HEIGHT, "Bytes alive, by step", draw, drawOver);
  const tip = makeTip(parent);
  const hover = (x, yy) => {
    const outside = x === null || x < CHART_LEFT || x > layers.size.width - CHART_RIGHT;
    view.hoverStep = outside ? null : stepScale(view, layers.size.width).step(x);
    outside ? tip.hide() : tip.show(x, yy, tipRows(view, view.hoverStep));
    view.pointerMoved();
  };
  addStepControls(view, layers, hover, (x) => {
    if (x >= CHART_LEFT) view.goTo(stepScale(view, layers.size.width).step(x));
  });
  parent.before(zoomButtons(view));
  return {
    layers,
    update: (whole) => {
      const canvas = layers.over;
      canvas.setAttribute("aria-valuemin", "1");
      canvas.setAttribute("aria-valuemax", String(view.run.steps.count));
      canvas.setAttribute("aria-valuenow", String(view.step + 1));
      canvas.setAttribute("aria-valuetext", stepInWords(view, view.step));
      whole ? layers.redraw() : layers.redrawOver();
    },
  };
}

// What is alive at the chosen step, in words and as a list.
export function showStep(view) {
  const parent = view.part("step-detail");
  const {run, step} = view;
  const text = stepText(run, step);
  const alive = aliveAt(run, step);
  const shown = alive.slice(0, 8);
  const total = view.allBytes[step];
  const list = element("ol", {class: "bars"});
  for (const i of shown) {
    const bar = element("span", {class: "bar c" + run.buffers.category[i]});
    bar.style.width = (100 * run.buffers.bytes[i] / run.buffers.bytes[shown[0]]) + "%";
    const name = bufferName(run, i);
    list.append(element("li", {},
        element("button", {type: "button", title: name, onclick: () => view.select(i, true)},
                element("span", {class: "name"}, shorten(name, 56)),
                element("span", {class: "soft"}, view.categories[run.buffers.category[i]]),
                element("span", {class: "n"}, formatBytes(run.buffers.bytes[i])), bar)));
  }
  const others = total - shown.reduce((sum, i) => sum + run.buffers.bytes[i], 0);
  parent.hidden = false;
  parent.replaceChildren(
      element("h3", {}, "Step " + formatCount(step + 1) + (step === run.peakStep ? ", the peak: " : ": ") +
                        formatBytes(total) +
                        (step === run.peakStep ? "" : " (" + formatShare(total, run.peakBytes) + " of the peak)")),
      element("p", {}, text.phase + ": ", element("code", {}, text.op),
              ...(text.where ? [" in ", element("code", {}, text.where)] : [])),
      element("p", {class: "hint"}, "The largest tensors alive then. Choose one to see why it is alive."), list,
      element("p", {class: "hint"},
              others <= 0 ? "" : (run.others.count > 0 ? "All" : formatCount(alive.length - shown.length)) +
                                 " others: " + formatBytes(others)));
}
