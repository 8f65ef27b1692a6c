// Where each tensor stands in the picture of addresses.

// The lowest gap that fits, in the order of allocation: for buffers to which no allocator gave an address. `base` is
// where they may begin.
export function stackExactly(buffers, which, base = 0) {
  const address = new Map();
  let alive = [];  // by address
  for (const i of which) {
    const begin = buffers.begin[i];
    alive = alive.filter((j) => buffers.end[j] > begin);
    let at = base;
    let place = 0;
    for (; place < alive.length; ++place) {
      const j = alive[place];
      if (address.get(j) - at >= buffers.bytes[i]) break;
      at = address.get(j) + buffers.bytes[j];
    }
    address.set(i, at);
    alive.splice(place, 0, i);
  }
  return address;
}

// {address[buffer], height, simulated}: all that has an address keeps it, the rest stands above.
export function placeBuffers(run) {
  const b = run.buffers;
  const address = new Float64Array(b.count);
  let height = 0;
  const rest = [];
  for (let i = 0; i < b.count; ++i) {
    if (b.address === null || b.address[i] < 0) {
      if (b.bytes[i] > 0) rest.push(i);
      continue;
    }
    address[i] = b.address[i];
    height = Math.max(height, address[i] + b.bytes[i]);
  }
  const stacked = stackExactly(b, rest, height);
  for (const [i, at] of stacked) {
    address[i] = at;
    height = Math.max(height, at + b.bytes[i]);
  }
  return {address, height, simulated: b.address !== null};
}

// The buffer at a step and an address, or -1. Of several the last made.
export function bufferAt(run, placed, step, address) {
  const b = run.buffers;
  for (let i = b.count - 1; i >= 0; --i) {
    if (b.begin[i] <= step && step < b.end[i] && placed.address[i] <= address &&
        address < placed.address[i] + b.bytes[i]) {
      return i;
    }
  }
  return -1;
}
