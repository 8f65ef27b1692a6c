// Bytes by category, stacked, over steps: what the timeline, its overview and the pictures of a comparison draw.
import {bottomToTop, columnSteps} from "./series.mjs";

// `place`: {left, width, y(bytes)}. Of the steps that share a pixel the one with most bytes of `series` is drawn.
export function drawStack(context, series, [from, to], place, colours) {
  const pixels = Math.max(1, Math.round(place.width));
  const steps = columnSteps(series.total, from, to, pixels);
  const below = new Float64Array(pixels);
  for (const c of bottomToTop(series.byCategory.length)) {
    const bytes = series.byCategory[c];
    if (!bytes) continue;
    context.beginPath();
    context.moveTo(place.left, place.y(below[0]));
    for (let i = 0; i < pixels; ++i) {
      const top = place.y(below[i] + bytes[steps[i]]);
      context.lineTo(place.left + i, top);
      context.lineTo(place.left + i + 1, top);
    }
    for (let i = pixels - 1; i >= 0; --i) {
      context.lineTo(place.left + i + 1, place.y(below[i]));
      context.lineTo(place.left + i, place.y(below[i]));
      below[i] += bytes[steps[i]];
    }
    context.fillStyle = colours.categories[c];
    context.fill();
  }
}

// The upper edge of `total` as a line.
export function drawOutline(context, total, place, colour) {
  const pixels = Math.max(1, Math.round(place.width));
  const steps = columnSteps(total, 0, total.length, pixels);
  context.strokeStyle = colour;
  context.beginPath();
  for (let i = 0; i < pixels; ++i) {
    context.lineTo(place.left + i, place.y(total[steps[i]]));
    context.lineTo(place.left + i + 1, place.y(total[steps[i]]));
  }
  context.stroke();
}
