// What all pictures over steps share: where a step is, phases, pointer and keys. Keys: arrows (with Shift ten steps), Home,
// End, P to the peak, + and - to zoom, 0 for all of it.
import {PHASES, stepText} from "./data.mjs";
import {element} from "./dom.mjs";
import {formatBytes, formatCount} from "./format.mjs";
import {phaseSpans, zoomed} from "./series.mjs";

export const CHART_LEFT = 66;
export const CHART_RIGHT = 8;

// What of the view has changed, and with it what came before: what is marked; the steps that are shown; their bytes.
export const MARKS = 0, WINDOW = 1, BYTES = 2;

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
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      return view.panBy(event.deltaX / stepScale(view, layers.size.width).inner * (view.to - view.from));
    }
    if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls
    event.preventDefault();
    const around = stepScale(view, layers.size.width).step(at(event)[0]);
    view.zoomTo(...zoomed(view.from, view.to, around, event.deltaY > 0 ? 1.25 : 0.8, view.run.steps.count));
  }, {passive: false});
  const by = (steps) => (event) => view.goTo(view.step + steps * (event.shiftKey ? 10 : 1));
  addKeys(view, canvas, {
    ArrowLeft: by(-1), ArrowDown: by(-1), ArrowRight: by(1), ArrowUp: by(1), PageUp: by(-10), PageDown: by(10),
    Home: () => view.goTo(0), End: () => view.goTo(view.run.steps.count - 1),
  });
}

// `keys`: what each does, beside those that every picture over steps has.
export function addKeys(view, canvas, keys) {
  const toPeak = () => view.goTo(view.run.peakStep);
  const all = {
    p: toPeak, P: toPeak, "+": () => view.zoomBy(0.5), "=": () => view.zoomBy(0.5), "-": () => view.zoomBy(2),
    0: () => view.zoomTo(0, view.run.steps.count), ...keys,
  };
  canvas.addEventListener("keydown", (event) => {
    if (!all[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    all[event.key](event);
  });
}

export function zoomButtons(view) {
  const button = (text, label, act) => element("button", {type: "button", "aria-label": label, onclick: act}, text);
  return [button("+", "Zoom in", () => view.zoomBy(0.5)), button("−", "Zoom out", () => view.zoomBy(2)),
          button("Peak", "Go to the peak", () => view.goTo(view.run.peakStep)),
          button("All", "Show all steps", () => view.zoomTo(0, view.run.steps.count))];
}

export function stepInWords(view, step) {
  const text = stepText(view.run, step);
  return "step " + formatCount(step + 1) + " of " + formatCount(view.run.steps.count) + ", " + text.phase + ", " + text.op +
         (text.where ? " in " + text.where : "") + ", " + formatBytes(view.series.total[step]) + " alive";
}

// What a screen reader says of a chart over steps.
export function setStepAttributes(view, canvas) {
  canvas.setAttribute("aria-valuemin", "1");
  canvas.setAttribute("aria-valuemax", String(view.run.steps.count));
  canvas.setAttribute("aria-valuenow", String(view.step + 1));
  canvas.setAttribute("aria-valuetext", stepInWords(view, view.step));
}

// A vertical line at each of [step, colour].
export function drawSteps(context, view, width, top, bottom, steps) {
  const scale = stepScale(view, width);
  for (const [step, colour] of steps) {
    if (step === null || step < view.from || step >= view.to) continue;
    const x = (scale.x(step) + scale.x(step + 1)) / 2;
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
  }
}
