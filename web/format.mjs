// Numbers as people read them, the same as the program writes them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

// Three significant digits in the largest unit that leaves at least 1: "97.5 MiB".
export function formatBytes(bytes) {
  const sign = bytes < 0 ? "-" : "";
  let size = Math.abs(bytes);
  let unit = 0;
  while (size >= 1024 && unit + 1 < UNITS.length) {
    size /= 1024;
    ++unit;
  }
  if (unit === 0) return sign + size + " B";
  const decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return sign + size.toFixed(decimals) + " " + UNITS[unit];
}

// "12,345", wherever the browser stands.
export function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// "12 %", "<1 %" for what is there but rounds to nothing.
export function formatShare(part, whole) {
  if (part === 0 || whole === 0) return "0 %";
  const percent = 100 * part / whole;
  return percent < 1 ? "<1 %" : Math.round(percent) + " %";
}

// Marks of an axis from 0 to `most` bytes: powers of two apart, at most five.
export function byteTicks(most) {
  let apart = 1;
  while (most / apart > 5) apart *= 2;
  const ticks = [];
  for (let tick = 0; tick <= most; tick += apart) ticks.push(tick);
  return ticks;
}

// A mark's label without digits that say nothing: "512 MiB", "1.5 GiB".
export function formatTick(bytes) {
  return formatBytes(bytes).replace(/\.?0+ (?=[KMGT])/, " ").replace(/^0 .*/, "0");
}

// A long name that keeps its ends: "layer4.…conv3".
export function shorten(text, length) {
  if (text.length <= length) return text;
  const tail = Math.ceil(length / 2) - 1;
  return text.slice(0, length - tail - 1) + "…" + text.slice(text.length - tail);
}
