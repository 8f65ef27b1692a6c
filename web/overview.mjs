// The whole run in a strip below the timeline, and on it the window that the pictures show: drag inside to move it, its
// edges to stretch it, outside to choose another. Keys: arrows move it, + and - zoom, Home and End go to the ends.
import {layeredCanvas} from "./dom.mjs";
import {formatCount} from "./format.mjs";
import {drawStack} from "./stack.mjs";
import {addKeys, BYTES, CHART_LEFT, CHART_RIGHT} from "./steps.mjs";

const OVERVIEW_HEIGHT = 44;
const GRIP = 7;  // pixels beside an edge that hold it

// What a pointer that goes down at `x` takes hold of; `edges`: [left, right] of the window in pixels.
export function gripAt(x, [left, right], whole) {
  if (whole) return "new";
  const reach = Math.min(GRIP, Math.max(1, (right - left) / 3));
  if (Math.abs(x - left) <= (x < left ? GRIP : reach)) return "left";
  if (Math.abs(x - right) <= (x > right ? GRIP : reach)) return "right";
  return x > left && x < right ? "move" : "new";
}

// The window after a drag from step `start` to step `now`, both may be fractions: whole steps, four at least.
export function dragged(grip, [from, to], start, now, count) {
  const least = Math.min(4, count);
  const within = (step) => Math.max(0, Math.min(count, Math.round(step)));
  if (grip === "left") return [Math.min(within(now), to - least), to];
  if (grip === "right") return [from, Math.max(within(now), from + least)];
  if (grip === "move") {
    const first = Math.max(0, Math.min(count - (to - from), from + Math.round(now - start)));
    return [first, first + to - from];
  }
  const first = Math.min(within(Math.min(start, now)), count - least);
  return [first, Math.max(within(Math.max(start, now)), first + least)];
}

export function makeOverview(view) {
  const parent = view.part("timeline-overview");
  const count = () => view.run.steps.count;
  const scale = (size) => {
    const inner = Math.max(1, size.width - CHART_LEFT - CHART_RIGHT);
    return {inner, x: (step) => CHART_LEFT + inner * step / count(), step: (x) => (x - CHART_LEFT) / inner * count()};
  };

  const draw = (context, size) => {
    const {colours} = view;
    const {inner, x} = scale(size);
    const most = Math.max(1, view.series.most);
    const place = {left: CHART_LEFT, width: inner, y: (bytes) => OVERVIEW_HEIGHT - 1 - (OVERVIEW_HEIGHT - 4) * bytes / most};
    drawStack(context, view.series, [0, count()], place, colours);
    if (view.found !== null) {
      context.fillStyle = colours.surface;
      context.globalAlpha = 0.7;
      context.fillRect(CHART_LEFT, 0, inner, OVERVIEW_HEIGHT);
      context.globalAlpha = 1;
      if (view.foundSeries) drawStack(context, view.foundSeries, [0, count()], place, colours);
      context.fillStyle = colours.mark;
      for (const step of view.found.steps) context.fillRect(x(step + 0.5) - 1, 0, 2, 5);
    }
  };

  const drawOver = (context, size) => {
    const {colours} = view;
    const {inner, x} = scale(size);
    const [left, right] = [x(view.from), x(view.to)];
    context.fillStyle = colours.page;
    context.globalAlpha = 0.72;
    context.fillRect(CHART_LEFT, 0, left - CHART_LEFT, OVERVIEW_HEIGHT);
    context.fillRect(right, 0, CHART_LEFT + inner - right, OVERVIEW_HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = colours.mark;
    context.strokeRect(left + 0.5, 0.5, Math.max(1, right - left - 1), OVERVIEW_HEIGHT - 1);
    context.fillStyle = colours.mark;
    for (const edge of [left, right]) context.fillRect(edge - 2, OVERVIEW_HEIGHT / 2 - 8, 4, 16);
  };

  const layers = layeredCanvas(parent, OVERVIEW_HEIGHT, {role: "slider", "aria-label": "The whole run; the window of steps that is shown"},
                               draw, drawOver);
  const canvas = layers.over;
  const xOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const grip = (x) => gripAt(x, [scale(layers.size).x(view.from), scale(layers.size).x(view.to)],
                             view.to - view.from === count());
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const x = xOf(event);
    drag = {grip: grip(x), start: scale(layers.size).step(x), x, window: [view.from, view.to]};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const x = xOf(event);
    if (drag === null) {
      canvas.style.cursor = {left: "ew-resize", right: "ew-resize", move: "grab", new: "crosshair"}[grip(x)];
    } else if (drag.moved || Math.abs(x - drag.x) > 3) {
      drag.moved = true;
      view.zoomTo(...dragged(drag.grip, drag.window, drag.start, scale(layers.size).step(x), count()));
    }
  });
  canvas.addEventListener("pointerup", () => {
    // A click beside the window brings it there.
    if (drag !== null && !drag.moved && drag.grip === "new") view.panBy(drag.start - (view.from + view.to) / 2);
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => (drag = null));
  canvas.addEventListener("dblclick", () => view.zoomTo(0, count()));
  const by = (sign) => (event) => view.panBy(sign * Math.max(1, (view.to - view.from) * (event.shiftKey ? 1 : 0.1)));
  addKeys(view, canvas, {
    ArrowLeft: by(-1), ArrowDown: by(-1), ArrowRight: by(1), ArrowUp: by(1), Home: () => view.panBy(-count()),
    End: () => view.panBy(count()), PageUp: () => view.panBy(view.from - view.to), PageDown: () => view.panBy(view.to - view.from),
  });
  return {
    layers,
    update: (level) => {
      canvas.setAttribute("aria-valuemin", "1");
      canvas.setAttribute("aria-valuemax", String(count()));
      canvas.setAttribute("aria-valuenow", String(view.from + 1));
      canvas.setAttribute("aria-valuetext", "steps " + formatCount(view.from + 1) + " to " + formatCount(view.to) + " of " +
                                            formatCount(count()));
      level >= BYTES ? layers.redraw() : layers.redrawOver();
    },
  };
}
