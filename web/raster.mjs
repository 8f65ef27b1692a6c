// Rectangles as pixels. Tens of thousands of them as paths of a canvas take a good part of a second without a graphics
// card; written into the pixels they take some milliseconds.

// "#rrggbb" or "#rgb" as a pixel of a canvas, of which `alpha` covers `ground`.
export function pixelOf(colour, ground = colour, alpha = 1) {
  const part = (text, i) => (text.length === 4 ? 17 * parseInt(text[1 + i], 16) : parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16));
  const mixed = [0, 1, 2].map((i) => Math.round(alpha * part(colour, i) + (1 - alpha) * part(ground, i)));
  return (0xff000000 | mixed[2] << 16 | mixed[1] << 8 | mixed[0]) >>> 0;
}

// Fills [left, right) x [top, bottom) of `pixels`, `width` of them a row. Edges are rounded, so that neighbours never
// overlap; what is thinner than a pixel across stays one pixel wide, so that a short life is seen.
export function fillRectangle(pixels, width, height, left, top, right, bottom, pixel) {
  const x0 = Math.max(0, Math.min(width - 1, Math.round(left)));
  const x1 = Math.min(width, Math.max(x0 + 1, Math.round(right)));
  const y1 = Math.min(height, Math.round(bottom));
  for (let y = Math.max(0, Math.round(top)); y < y1; ++y) pixels.fill(pixel, y * width + x0, y * width + x1);
}
