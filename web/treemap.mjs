// Memory by module: areas are bytes. A click goes into a module, the path above leads out again.
import {element, radioRow} from "./dom.mjs";
import {formatBytes, formatShare, shorten} from "./format.mjs";
import {moduleTree, squarify} from "./squarify.mjs";

const TREEMAP_HEIGHT = 380;
const CATEGORY = {parameters: 0, buffers: 1, gradients: 3, optimizerState: 4, saved: 5};

// What a treemap may measure: [key, title, which buffers count].
function measures(view) {
  const b = view.run.buffers;
  const aliveAtPeak = (i) => b.begin[i] <= view.run.peakStep && view.run.peakStep < b.end[i];
  const of = (...categories) => (i) => categories.includes(b.category[i]);
  return [
    ["peak", "alive at the peak", aliveAtPeak],
    ["parameters", "parameters", of(CATEGORY.parameters, CATEGORY.buffers)],
    ["saved", "saved activations", (i) => b.category[i] === CATEGORY.saved && aliveAtPeak(i)],
    ["gradients", "gradients", (i) => b.category[i] === CATEGORY.gradients],
    ["state", "optimizer state", of(CATEGORY.optimizerState)],
  ];
}

// Bytes alive at the peak of `run`, by module.
function peakByModule(run) {
  const b = run.buffers;
  const sums = new Map();
  for (let i = 0; i < b.count; ++i) {
    if (b.begin[i] > run.peakStep || run.peakStep >= b.end[i]) continue;
    const module = run.strings[b.module[i]];
    sums.set(module, (sums.get(module) || 0) + b.bytes[i]);
  }
  return sums;
}

// What grew and what shrank at the peak, module by module: a box's area is the change without its sign, its kind is
// GREW or SHRANK by what most of it did.
export const GREW = 0, SHRANK = 1;
export function changeTree(base, run) {
  const before = peakByModule(base), after = peakByModule(run);
  const modules = [...new Set([...before.keys(), ...after.keys()])];
  const changes = modules.map((module) => (after.get(module) || 0) - (before.get(module) || 0));
  return moduleTree(modules, changes.map(Math.abs), changes.map((change) => (change > 0 ? GREW : SHRANK)));
}

// The tree of modules with the bytes that count.
function treeOf(view, counts) {
  const b = view.run.buffers;
  const sums = new Map();  // by module and category: far fewer than buffers
  for (let i = 0; i < b.count; ++i) {
    if (!counts(i)) continue;
    const key = b.module[i] * 16 + b.category[i];
    sums.set(key, (sums.get(key) || 0) + b.bytes[i]);
  }
  const keys = [...sums.keys()];
  return moduleTree(keys.map((key) => view.run.strings[Math.floor(key / 16)]), [...sums.values()],
                    keys.map((key) => key % 16));
}

function nodeAt(node, path) {
  if (node.path === path) return node;
  for (const child of node.children) {
    const within = path === child.path || path.startsWith(child.path + ".");
    if (child.children.length > 0 && within) return nodeAt(child, path);
  }
  return node;
}

export function makeTreemap(view) {
  const parent = view.part("treemap");
  const controls = view.part("treemap-controls");
  let measure = "peak";
  let path = "";

  // A box and, where there is room, what is in it: siblings on the page, since a button holds no buttons.
  const addBoxes = (boxes, node, place, total, depth) => {
    if (place.w < 3 || place.h < 3) return;
    const opens = node.children.length > 0;
    const changed = measure === "change";
    const words = node.name + ": " + formatBytes(node.value) +
                  (changed ? (node.kind === GREW ? " more" : " less") : ", " + formatShare(node.value, total));
    const colour = changed ? (node.kind === GREW ? "grew" : "shrank") : "c" + node.kind;
    const made = element(opens ? "button" : "div", {
      class: "box " + colour, title: (node.path || node.name) + "\n" + words,
      type: opens ? "button" : null, tabindex: opens ? (depth === 0 ? "0" : "-1") : null,
      "aria-label": words + (opens ? ". Open" : ""), "data-depth": String(Math.min(depth, 3)), onclick: () => {
        if (!opens) return;
        path = node.path;
        render();
        const first = parent.querySelector("button");
        if (first) first.focus();
      }});
    for (const [property, value] of [["left", place.x], ["top", place.y], ["width", place.w - 1],
                                     ["height", place.h - 1]]) {
      made.style[property] = Math.max(0, value) + "px";
    }
    boxes.push(made);
    const bytes = formatBytes(node.value);
    const letters = Math.floor((place.w - 12) / 7.5);
    if (place.h < 20 || letters < 2) return;
    const both = letters >= node.name.length + bytes.length + 2;
    made.append(element("span", {class: "label"}, shorten(node.name, letters),
                        ...(both ? [element("span", {class: "bytes"}, " " + bytes)] : [])));
    if (!opens || place.w < 56 || place.h < 52 || depth === 3) {
      if (!both && place.h > 40 && letters >= bytes.length) made.append(element("span", {class: "bytes"}, bytes));
      return;
    }
    const inner = squarify(node.children.map((child) => child.value), place.x + 3, place.y + 22, place.w - 7,
                           place.h - 26);
    node.children.forEach((child, i) => addBoxes(boxes, child, inner[i], total, depth + 1));
  };

  const render = () => {
    const width = parent.clientWidth;
    const choices = measures(view);
    const has = choices.filter(([, , counts]) => view.run.buffers.bytes.some((bytes, i) => bytes > 0 && counts(i)));
    if (measure !== "change" && !has.some(([key]) => key === measure)) measure = "peak";
    if (view.base !== null) has.push(["change", "change at the peak"]);
    if (measure === "change" && view.base === null) measure = "peak";
    const root = measure === "change" ? changeTree(view.base, view.run)
                                      : treeOf(view, choices.find(([key]) => key === measure)[2]);
    const at = nodeAt(root, path);
    path = at.path;
    const trail = element("nav", {class: "trail", "aria-label": "Modules"});
    const parts = path === "" ? [] : path.split(".");
    const trailPart = (text, to) => element("button", {type: "button", class: "link", onclick: () => {
      path = to;
      render();
    }}, text);
    trail.append(trailPart("model", ""));
    parts.forEach((part, i) => trail.append(" › ", trailPart(part, parts.slice(0, i + 1).join("."))));
    trail.append(element("span", {class: "soft"}, "  " + formatBytes(at.value)));
    controls.replaceChildren(radioRow("measure", "Area is", has.map(([key, title]) => [key, title]), measure, (key) => {
      measure = key;
      render();
    }), trail);
    parent.style.height = TREEMAP_HEIGHT + "px";
    const children = at.children.length > 0 ? at.children : [at];
    const boxes = [];
    const rectangles = squarify(children.map((child) => child.value), 0, 0, width, TREEMAP_HEIGHT);
    children.forEach((child, i) => addBoxes(boxes, child, rectangles[i], root.value, 0));
    parent.replaceChildren(...boxes);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (parent.clientWidth === width) return;
    width = parent.clientWidth;
    render();
  }).observe(parent);
  return {newRun: () => {
    path = "";
    render();
  }};
}
