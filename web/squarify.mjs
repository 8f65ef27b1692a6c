// Rectangles whose areas are in the proportion of their values, as square as can be.
// The algorithm: M. Bruls, K. Huizing, J. van Wijk, "Squarified Treemaps", 2000.

function worst(row, sum, side) {
  const square = sum * sum;
  return Math.max(side * side * row.most / square, square / (side * side * row.least));
}

// `values`: positive, largest first. [{x, y, w, h}] in their order.
export function squarify(values, x, y, w, h) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const rectangles = [];
  if (total <= 0 || w <= 0 || h <= 0) return values.map(() => ({x, y, w: 0, h: 0}));
  const scale = w * h / total;
  let at = 0;
  while (at < values.length) {
    const side = Math.min(w, h);
    const row = {most: values[at] * scale, least: values[at] * scale};
    let sum = row.most;
    let end = at + 1;
    while (end < values.length) {
      const area = values[end] * scale;
      const wider = {most: Math.max(row.most, area), least: Math.min(row.least, area)};
      if (side > 0 && worst(wider, sum + area, side) > worst(row, sum, side)) break;
      row.most = wider.most;
      row.least = wider.least;
      sum += area;
      ++end;
    }
    const thick = side > 0 ? sum / side : 0;
    let along = 0;
    for (let i = at; i < end; ++i) {
      const length = thick > 0 ? values[i] * scale / thick : 0;
      rectangles.push(w >= h ? {x, y: y + along, w: thick, h: length} : {x: x + along, y, w: length, h: thick});
      along += length;
    }
    if (w >= h) {
      x += thick;
      w = Math.max(0, w - thick);
    } else {
      y += thick;
      h = Math.max(0, h - thick);
    }
    at = end;
  }
  return rectangles;
}

// Modules as a tree, by the parts of their paths: {name, path, value, kinds, children}, children largest first. `kinds`:
// of each value, its category; a node's `kinds` are the sums of its values by category. A level with one child and
// nothing of its own is left out.
export function moduleTree(paths, values, kinds = []) {
  const made = (name, path) => ({name, path, value: 0, own: 0, ownKinds: [], kinds: [], children: new Map()});
  const root = made("model", "");
  const count = (sums, kind, value) => (sums[kind] = (sums[kind] || 0) + value);
  paths.forEach((path, i) => {
    if (!(values[i] > 0)) return;
    const kind = kinds[i] || 0;
    const parts = path === "" ? ["(no module)"] : path.split(path.startsWith("/") ? "/" : ".").filter((p) => p !== "");
    let node = root;
    node.value += values[i];
    count(node.kinds, kind, values[i]);
    for (const part of parts) {
      const path = node.path === "" ? part : node.path + "." + part;
      if (!node.children.has(part)) node.children.set(part, made(part, path));
      node = node.children.get(part);
      node.value += values[i];
      count(node.kinds, kind, values[i]);
    }
    node.own += values[i];
    count(node.ownKinds, kind, values[i]);
  });
  return closed(root);
}

function closed(node) {
  const children = [...node.children.values()].map(closed);
  if (children.length > 0 && node.own > 0) {
    children.push({name: "(itself)", path: node.path, value: node.own, kinds: node.ownKinds, children: []});
  }
  children.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
  if (children.length === 1 && node.path !== "") {
    const only = children[0];
    return {name: node.name + "." + only.name, path: only.path, value: node.value, kinds: node.kinds, children: only.children};
  }
  return {name: node.name, path: node.path, value: node.value, kinds: node.kinds, children};
}

// The parts of a node by category, largest first: [kind, value].
export function kindsOf(node) {
  return Object.entries(node.kinds).map(([kind, value]) => [Number(kind), value]).filter(([, value]) => value > 0)
      .sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}
