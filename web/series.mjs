// Bytes over the steps: sums by category, and what of them a picture of so many pixels can show.

import {formatBytes} from "./format.mjs";

// From the bottom up: what stays is below, what comes and goes on top. As the program's own picture stacks them.
const BOTTOM = [0, 1, 4, 2, 3];  // parameters, buffers, optimizer state, inputs, gradients

// The order of `count` categories.
export function bottomToTop(count) {
  const all = [...Array(count).keys()];
  return [...BOTTOM.filter((c) => c < count), ...all.filter((c) => !BOTTOM.includes(c))];
}

// {byCategory[category][step], total[step], most}; `hidden` categories count as nothing; `only`: these buffers alone.
export function bytesPerStep(run, categories, hidden = new Set(), only = null) {
  const count = run.steps.count;
  const byCategory = [];
  for (let c = 0; c < categories; ++c) byCategory.push(new Float64Array(count + 1));
  const b = run.buffers;
  const buffers = only === null ? b.count : only.length;
  for (let k = 0; k < buffers; ++k) {
    const i = only === null ? k : only[k];
    const changes = byCategory[b.category[i]];
    changes[b.begin[i]] += b.bytes[i];
    changes[b.end[i]] -= b.bytes[i];
  }
  const total = new Float64Array(count);
  for (let c = 0; c < categories; ++c) {
    const sums = byCategory[c];
    for (let step = 1; step < count; ++step) sums[step] += sums[step - 1];
    const others = only === null ? run.others.bytes[c] : undefined;
    for (let step = 0; step < count; ++step) {
      if (others) sums[step] += others[step];
      if (hidden.has(c)) sums[step] = 0;
      total[step] += sums[step];
    }
  }
  return {byCategory, total, most: total.reduce((most, bytes) => Math.max(most, bytes), 0)};
}

// For each of `pixels` columns over the steps [from, to), the step with the largest total: peaks are never lost.
export function columnSteps(total, from, to, pixels) {
  const steps = new Int32Array(pixels);
  for (let x = 0; x < pixels; ++x) {
    const first = Math.min(to - 1, Math.floor(from + (to - from) * x / pixels));
    const last = Math.max(first + 1, Math.floor(from + (to - from) * (x + 1) / pixels));
    let most = first;
    for (let step = first + 1; step < Math.min(last, to); ++step) {
      if (total[step] > total[most]) most = step;
    }
    steps[x] = most;
  }
  return steps;
}

// Runs of steps of one phase: [{phase, from, to}].
export function phaseSpans(run) {
  const spans = [];
  for (let step = 0; step < run.steps.count; ++step) {
    const last = spans[spans.length - 1];
    if (last && last.phase === run.steps.phase[step]) {
      last.to = step + 1;
    } else {
      spans.push({phase: run.steps.phase[step], from: step, to: step + 1});
    }
  }
  return spans;
}

// A window of steps after zooming by `factor` around `around`, at least four steps, within [0, count].
export function zoomed(from, to, around, factor, count) {
  const length = Math.min(count, Math.max(Math.min(4, count), Math.round((to - from) * factor)));
  const share = to > from ? (around - from) / (to - from) : 0.5;
  const first = Math.round(Math.min(count - length, Math.max(0, around - share * length)));
  return [first, first + length];
}

// Lines across the timeline: {bytes, words on it, what it is, colour, mark of the legend}. A limit far above the curve is
// left out, since the curve would be flat.
export function levelsOf(view) {
  const {limitBytes, peakBytes} = view.run;
  const levels = [];
  if (limitBytes > 0 && limitBytes < 4 * peakBytes) {
    levels.push({bytes: limitBytes, words: "limit for tensors " + formatBytes(limitBytes), what: "limit for tensors",
                 colour: "limit", mark: "limit"});
  }
  if (view.basePeak && view.basePeak !== peakBytes) {
    levels.push({bytes: view.basePeak, words: view.baseWords + " " + formatBytes(view.basePeak), what: view.baseWords,
                 colour: "soft", mark: "base"});
  }
  return levels;
}
