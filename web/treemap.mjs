// Memory by module: areas are bytes, bands of colour are categories. A click opens a module, the path above leads out
// again.
import {behindFrame, element, makeTip, radioRow} from "./dom.mjs";
import {formatBytes, formatShare, shorten} from "./format.mjs";
import {legendOf} from "./legend.mjs";
import {kindsOf, moduleTree, squarify} from "./squarify.mjs";
import {tensorTip} from "./step_detail.mjs";

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

// What grew and what shrank at the peak, module by module: a box's area is the change without its sign, its kinds
// are what grew and what shrank of it.
export const GREW = 100, SHRANK = 101;  // beside the categories
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

// The colour of a band, tinted so that text reads on it.
function tintOf(kind) {
  const colour = kind === GREW ? "grew" : kind === SHRANK ? "shrank" : "c" + kind;
  return "color-mix(in srgb, var(--" + colour + ") var(--tint), var(--surface))";
}

// Bands across a box, as wide as its categories are large.
export function bandsOf(kinds) {
  const whole = kinds.reduce((sum, [, value]) => sum + value, 0);
  let from = 0;
  return kinds.map(([kind, value]) => {
    const to = from + 100 * value / whole;
    const band = tintOf(kind) + " " + from.toFixed(1) + "% " + to.toFixed(1) + "%";
    from = to;
    return band;
  }).join(", ");
}

// A square in the tint of a band.
function bandKey(kind) {
  const key = element("i", {class: "key"});
  key.style.background = tintOf(kind);
  return key;
}

// What of a module is large: the largest tensor that counts.
function largestWithin(view, path, counts) {
  const {buffers: b, strings} = view.run;
  let largest = -1;
  for (let i = 0; i < b.count; ++i) {
    const module = strings[b.module[i]];
    const within = path === "" || module === path || module.startsWith(path + ".");
    if (within && counts(i) && (largest < 0 || b.bytes[i] > b.bytes[largest])) largest = i;
  }
  return largest;
}

export function makeTreemap(view) {
  const parent = view.part("treemap");
  const controls = view.part("treemap-controls");
  const holder = parent.parentElement;
  const tip = makeTip(holder);
  let waiting = false;
  const measureOf = (key) => measures(view).find(([of]) => of === key) || measures(view)[0];
  const open = (path) => {
    view.module = path;
    render();
    view.changed();
  };
  const changed = () => view.area === "change";
  const kindName = (kind) => (kind === GREW ? "more" : kind === SHRANK ? "less" : view.categories[kind]);

  const tipOf = (node, total) => {
    const rows = kindsOf(node).map(([kind, value]) => element("div", {class: "row"}, bandKey(kind),
        element("span", {}, kindName(kind)), element("span", {class: "n"}, formatBytes(value))));
    const largest = changed() ? -1 : largestWithin(view, node.path, measureOf(view.area)[2]);
    const about = largest < 0 ? [] : [element("div", {class: "soft"}, "Largest tensor:"), ...tensorTip(view, largest)];
    return [element("b", {}, node.path || node.name), element("div", {class: "soft"}, formatBytes(node.value) +
            (changed() ? " changed" : ", " + formatShare(node.value, total))), ...rows, ...about];
  };

  // A box and, where there is room, what is in it: siblings on the page, since a button holds no buttons.
  const addBoxes = (boxes, node, place, total, depth) => {
    if (place.w < 3 || place.h < 3) return;
    const opens = node.children.length > 0;
    const kinds = kindsOf(node);
    const words = node.name + ": " + formatBytes(node.value) + (changed() ? " changed" : ", " + formatShare(node.value, total)) +
                  ", " + kinds.map(([kind, value]) => formatBytes(value) + " " + kindName(kind)).join(", ");
    const within = opens && place.w >= 56 && place.h >= 52 && depth < 3;
    const made = element(opens ? "button" : "div", {
      class: "box " + (within ? "holds" : ""), type: opens ? "button" : null, role: opens ? null : "img",
      tabindex: opens ? (depth === 0 ? "0" : "-1") : null, "aria-label": words + (opens ? ". Open" : ""),
      "data-depth": String(Math.min(depth, 3)),
      onpointermove: (event) => {
        const box = holder.getBoundingClientRect();
        tip.show(event.clientX - box.left, event.clientY - box.top, tipOf(node, total));
      },
      onclick: () => {
        if (!opens) return;
        open(node.path);
        const first = parent.querySelector("button");
        if (first) first.focus();
      }});
    if (!within) made.style.backgroundImage = "linear-gradient(to right, " + bandsOf(kinds) + ")";
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
    if (!within) {
      if (!both && place.h > 40 && letters >= bytes.length) made.append(element("span", {class: "bytes"}, bytes));
      return;
    }
    const inner = squarify(node.children.map((child) => child.value), place.x + 3, place.y + 22, place.w - 7,
                           place.h - 26);
    node.children.forEach((child, i) => addBoxes(boxes, child, inner[i], total, depth + 1));
  };

  const measuresOfRun = () => [
    ...measures(view).filter(([, , counts]) => view.run.buffers.bytes.some((bytes, i) => bytes > 0 && counts(i))),
    ...(view.base === null ? [] : [["change", "change at the peak"]])];

  // Which measures the run has, the path to the module that is shown, and what the bands mean.
  const renderControls = (has, root, at) => {
    const trail = element("nav", {class: "trail", "aria-label": "Path of the module"});
    const parts = at.path === "" ? [] : at.path.split(".");
    const link = (text, to) => element("button", {type: "button", class: "link", onclick: () => open(to)}, text);
    trail.append(link("model", ""));
    parts.forEach((part, i) => trail.append(" › ", link(part, parts.slice(0, i + 1).join("."))));
    trail.append(element("span", {class: "soft"}, "  " + formatBytes(at.value)));
    controls.replaceChildren(radioRow("measure", "Area is", has.map(([key, title]) => [key, title]), view.area || "peak",
                                      (key) => {
      view.area = key === "peak" ? "" : key;
      open(view.module);
    }), trail);
    view.part("treemap-marks").replaceChildren(legendOf(kindsOf(root).map(([kind]) => [bandKey(kind), kindName(kind)])));
  };

  const render = () => {
    if (!parent.isConnected) return;  // the page was closed
    const width = parent.clientWidth;
    tip.hide();
    const has = measuresOfRun();
    if (!has.some(([key]) => key === view.area)) view.area = "";
    const root = changed() ? changeTree(view.base, view.run) : treeOf(view, measureOf(view.area)[2]);
    const at = nodeAt(root, view.module);
    view.module = at.path;
    renderControls(has, root, at);
    parent.style.height = TREEMAP_HEIGHT + "px";
    const children = at.children.length > 0 ? at.children : [at];
    const boxes = [];
    const rectangles = squarify(children.map((child) => child.value), 0, 0, width, TREEMAP_HEIGHT);
    children.forEach((child, i) => addBoxes(boxes, child, rectangles[i], root.value, 0));
    parent.replaceChildren(...boxes);
  };
  // Behind the first picture, which should not wait for this one.
  const soon = () => {
    if (waiting) return;
    waiting = true;
    behindFrame(() => {
      waiting = false;
      render();
    });
  };
  parent.addEventListener("pointerleave", () => tip.hide());
  let width = 0;
  new ResizeObserver(() => {
    if (parent.clientWidth === width) return;
    width = parent.clientWidth;
    soon();
  }).observe(parent);
  return {newRun: () => {
    view.module = "";
    soon();
  }};
}
