// Every tensor as a rectangle: across its life, upwards where it lies in memory. What is empty within is fragmentation.
import {element, layeredCanvas, makeTip} from "./dom.mjs";
import {byteTicks, formatTick} from "./format.mjs";
import {legendOf} from "./legend.mjs";
import {bufferAt, placeBuffers} from "./lifetimes_layout.mjs";
import {fillRectangle, pixelOf} from "./raster.mjs";
import {tensorTip} from "./step_detail.mjs";
import {addStepControls, CHART_LEFT, CHART_RIGHT, drawBrush, drawPhases, drawSteps} from "./steps.mjs";
import {setStepAttributes, stepScale, WINDOW} from "./steps.mjs";

const LIFETIMES_HEIGHT = 420;
const LIFETIMES_TOP = 8;
const LIFETIMES_BOTTOM = 26;
const NOT_FOUND = 0.16, HIDDEN = 0.12, EDGE = 0.6;  // how much of its colour a rectangle keeps

// All rectangles as pixels of an image of `width` x `height`.
function paintBuffers(view, placed, image, width, height) {
  const b = view.run.buffers;
  const {free, surface} = view.colours;
  const pixels = new Uint32Array(image.data.buffer).fill(pixelOf(free));
  const shades = view.colours.categories.map((colour, c) => {
    const part = view.hidden.has(c) ? HIDDEN : 1;
    return [part * NOT_FOUND, part].map((of) => [pixelOf(colour, free, of), pixelOf(colour, surface, of * EDGE)]);
  });
  const {from, to} = view;
  const across = width / (to - from), upwards = height / Math.max(1, placed.height);
  for (let i = 0; i < b.count; ++i) {
    if (b.end[i] <= from || b.begin[i] >= to) continue;
    const left = (Math.max(b.begin[i], from) - from) * across, right = (Math.min(b.end[i], to) - from) * across;
    const top = height - (placed.address[i] + b.bytes[i]) * upwards, bottom = height - placed.address[i] * upwards;
    const [shade, edge] = shades[b.category[i]][view.found === null || view.found.has.has(i) ? 1 : 0];
    fillRectangle(pixels, width, height, left, top, right, bottom, shade);
    // A paler edge between neighbours where there is room for it; grey would be free memory.
    if (bottom - top > 4) fillRectangle(pixels, width, height, left, top, right, top + 1, edge);
    if (right - left > 4) fillRectangle(pixels, width, height, right - 1, top, right, bottom, edge);
  }
}

export function makeLifetimes(view) {
  const parent = view.part("lifetimes-chart");
  const bottom = LIFETIMES_HEIGHT - LIFETIMES_BOTTOM;
  let placed = null;
  let placedFor = null;
  const place = () => {
    if (placedFor !== view.run) {
      placed = placeBuffers(view.run);
      placedFor = view.run;
    }
    return placed;
  };
  const y = (address) => bottom - (bottom - LIFETIMES_TOP) * address / Math.max(1, place().height);

  const outline = (scale, i) => {
    const b = view.run.buffers;
    const [left, right] = [Math.max(b.begin[i], view.from), Math.min(b.end[i], view.to)].map(scale.x);
    const top = y(placed.address[i] + b.bytes[i]);
    return [left - 0.5, top - 0.5, Math.max(3, right - left + 1), Math.max(3, y(placed.address[i]) - top + 1)];
  };

  const draw = (context, size) => {
    const {colours} = view;
    const ratio = context.getTransform().a;
    const inner = stepScale(view, size.width).inner;
    const [width, height] = [inner, bottom - LIFETIMES_TOP].map((pixels) => Math.max(1, Math.round(pixels * ratio)));
    const image = context.createImageData(width, height);
    paintBuffers(view, place(), image, width, height);
    context.putImageData(image, Math.round(CHART_LEFT * ratio), Math.round(LIFETIMES_TOP * ratio));
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = colours.soft;
    for (const tick of byteTicks(place().height)) context.fillText(formatTick(tick), CHART_LEFT - 8, y(tick));
    context.textBaseline = "alphabetic";
    drawPhases(context, view, size, colours, LIFETIMES_TOP, bottom);
  };

  const drawOver = (context, size) => {
    const scale = stepScale(view, size.width);
    drawBrush(context, view, LIFETIMES_TOP, bottom);
    drawSteps(context, view, size.width, LIFETIMES_TOP, bottom, [[view.step, view.colours.text]]);
    for (const [i, wide] of [[view.hoverBuffer, 1], [view.buffer, 2]]) {
      const b = view.run.buffers;
      if (i === null || i < 0 || i >= b.count || b.end[i] <= view.from || b.begin[i] >= view.to) continue;
      place();
      context.strokeStyle = view.colours.text;
      context.lineWidth = wide;
      context.strokeRect(...outline(scale, i));
      context.lineWidth = 1;
    }
  };

  const label = "Tensors by address and step; the search box above chooses one";
  const layers = layeredCanvas(parent, LIFETIMES_HEIGHT, {role: "slider", "aria-label": label}, draw, drawOver);
  const tip = makeTip(parent);
  const under = (x, yy) => {
    if (x === null || x < CHART_LEFT || x > layers.size.width - CHART_RIGHT) return -1;
    const address = (bottom - yy) / (bottom - LIFETIMES_TOP) * place().height;
    return bufferAt(view.run, place(), stepScale(view, layers.size.width).step(x), address);
  };
  addStepControls(view, layers, (x, yy) => {
    const i = x === null ? -1 : under(x, yy);
    view.hoverBuffer = i < 0 ? null : i;
    i < 0 ? tip.hide() : tip.show(x, yy, tensorTip(view, i));
    layers.redrawOver();
  }, (x, yy) => {
    const i = under(x, yy);
    if (i >= 0) view.select(i);
  });

  return {
    layers,
    newRun: () => {
      const simulated = view.run.buffers.address !== null;
      view.part("lifetimes-marks").replaceChildren(
          ...(simulated ? [] : [element("p", {class: "hint"},
              "This run's allocator tells no addresses: tensors are stacked at their exact sizes.")]),
          legendOf([["free", simulated ? "reserved and free" : "no tensor"], ["step", "chosen step"],
                    ["phase", "begin of a phase"], ["chosen", "chosen tensor"]]));
    },
    update: (level) => {
      setStepAttributes(view, layers.over);
      level >= WINDOW ? layers.redraw() : layers.redrawOver();
    },
  };
}
