// The course of memory: bytes over the steps, stacked by category.
import {stepText} from "./data.mjs";
import {colourKey, element, layeredCanvas, makeTip} from "./dom.mjs";
import {byteTicks, formatBytes, formatCount, formatTick} from "./format.mjs";
import {legendOf} from "./legend.mjs";
import {bottomToTop, levelsOf} from "./series.mjs";
import {drawStack} from "./stack.mjs";
import {addStepControls, CHART_LEFT, CHART_RIGHT, drawBrush, drawPhases, drawSteps} from "./steps.mjs";
import {setStepAttributes, stepScale, WINDOW} from "./steps.mjs";

const TIMELINE_HEIGHT = 300;
const TIMELINE_TOP = 24;
const TIMELINE_BOTTOM = 26;
const FOUND_TICK = 5;

function tipRows(view, step) {
  const text = stepText(view.run, step);
  const rows = [element("b", {}, formatBytes(view.series.total[step]) + " at step " + formatCount(step + 1)),
                element("div", {class: "soft"}, text.phase + ": " + text.op)];
  if (text.where) rows.push(element("div", {class: "soft"}, text.where));
  for (const c of bottomToTop(view.categories.length).reverse()) {
    const bytes = view.series.byCategory[c][step];
    if (bytes > 0) {
      rows.push(element("div", {class: "row"}, colourKey(c), element("span", {}, view.categories[c]),
                        element("span", {class: "n"}, formatBytes(bytes))));
    }
  }
  if (view.foundSeries) {
    rows.push(element("div", {class: "row soft"}, "found", element("span", {class: "n"},
                                                                   formatBytes(view.foundSeries.total[step]))));
  }
  return rows;
}

// Grid and labels of an axis of bytes; `y(bytes)` in pixels.
export function drawByteAxis(context, size, most, y, colours) {
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const tick of byteTicks(most)) {
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(CHART_LEFT, Math.round(y(tick)) + 0.5);
    context.lineTo(size.width - CHART_RIGHT, Math.round(y(tick)) + 0.5);
    context.stroke();
    context.fillStyle = colours.soft;
    context.fillText(formatTick(tick), CHART_LEFT - 8, y(tick));
  }
  context.textBaseline = "alphabetic";
}

// Words with a halo, so that no line crosses them.
function drawWords(context, words, x, y, colours) {
  context.strokeStyle = colours.surface;
  context.lineWidth = 4;
  context.strokeText(words, x, y);
  context.lineWidth = 1;
  context.fillText(words, x, y);
}

// A dashed line with words on it.
function drawLevel(context, size, height, text, colour, colours) {
  context.strokeStyle = colour;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(CHART_LEFT, Math.round(height) + 0.5);
  context.lineTo(size.width - CHART_RIGHT, Math.round(height) + 0.5);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colour;
  context.textAlign = "right";
  drawWords(context, text, size.width - CHART_RIGHT - 2, height - 5, colours);
}

// A triangle on top of the peak at `x`, and its size beside it.
export function drawPeak(context, size, x, height, bytes, colours) {
  context.fillStyle = colours.text;
  context.beginPath();
  context.moveTo(x, height - 1);
  context.lineTo(x - 4, height - 8);
  context.lineTo(x + 4, height - 8);
  context.fill();
  context.font = "600 12px system-ui, sans-serif";
  const left = x > size.width / 2;
  context.textAlign = left ? "right" : "left";
  drawWords(context, "peak " + formatBytes(bytes), x + (left ? -8 : 8), Math.max(12, height - 7), colours);
}

export function makeTimeline(view) {
  const parent = view.part("timeline-chart");
  const bottom = TIMELINE_HEIGHT - TIMELINE_BOTTOM;
  const yOf = (most) => (bytes) => bottom - (bottom - TIMELINE_TOP) * bytes / most;
  const most = () => 1.06 * Math.max(1, view.series.most, ...levelsOf(view).map((level) => level.bytes));

  const drawFound = (context, scale, y) => {
    const steps = view.found === null ? [] : view.found.steps;
    context.fillStyle = view.colours.mark;
    for (const step of steps) {
      if (step < view.from || step >= view.to) continue;
      const x = (scale.x(step) + scale.x(step + 1)) / 2;
      context.fillRect(x - 1, y(0) - FOUND_TICK, 2, FOUND_TICK);
    }
  };

  const draw = (context, size) => {
    const {colours, run} = view;
    const scale = stepScale(view, size.width);
    const top = most();
    const y = yOf(top);
    drawByteAxis(context, size, top, y, colours);
    const place = {left: CHART_LEFT, width: scale.inner, y};
    context.globalAlpha = view.found === null ? 1 : 0.22;
    drawStack(context, view.series, [view.from, view.to], place, colours);
    context.globalAlpha = 1;
    if (view.foundSeries) drawStack(context, view.foundSeries, [view.from, view.to], place, colours);
    drawFound(context, scale, y);
    drawPhases(context, view, size, colours, TIMELINE_TOP, bottom);
    for (const level of levelsOf(view)) drawLevel(context, size, y(level.bytes), level.words, colours[level.colour], colours);
    if (view.from <= run.peakStep && run.peakStep < view.to && view.hidden.size === 0) {
      const x = (scale.x(run.peakStep) + scale.x(run.peakStep + 1)) / 2;
      drawPeak(context, size, x, y(run.peakBytes), run.peakBytes, colours);
    }
  };

  const drawOver = (context, size) => {
    drawBrush(context, view, TIMELINE_TOP, bottom);
    drawSteps(context, view, size.width, TIMELINE_TOP, bottom,
              [[view.step, view.colours.text], [view.hoverStep, view.colours.soft]]);
  };

  const layers = layeredCanvas(parent, TIMELINE_HEIGHT, {role: "slider", "aria-label": "Bytes alive, by step"}, draw,
                               drawOver);
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
  return {
    layers,
    update: (level) => {
      setStepAttributes(view, layers.over);
      level >= WINDOW ? layers.redraw() : layers.redrawOver();
    },
    newRun: () => {
      // The picture made of lines, which paper shows, is of the page's first run.
      const drawn = view.data.plans.length === 0 && view.run === view.data.runs[0] && view.root.querySelector(".picture svg");
      view.root.classList.toggle("has-picture", Boolean(drawn));
    },
    newSearch: () => {
      const found = view.found === null ? [] : [["foundStep", "found step"], ["pale", "pale: not found"]];
      view.part("timeline-marks").replaceChildren(legendOf([
          ["peak", "peak"], ["step", "chosen step"], ["phase", "begin of a phase"],
          ...levelsOf(view).map((level) => [level.mark, level.what]), ...found]));
    },
  };
}
