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

function measured(view, counts) {
  const b = view.run.buffers;
  const byModule = new Map();
  const byCategory = new Map();
  for (let i = 0; i < b.count; ++i) {
    if (!counts(i)) continue;
    const module = view.run.strings[b.module[i]];
    byModule.set(module, (byModule.get(module) || 0) + b.bytes[i]);
    const key = module + "\n" + b.category[i];
    byCategory.set(key, (byCategory.get(key) || 0) + b.bytes[i]);
  }
  return {byModule, byCategory};
}

// The category with most of the bytes at or below `path`: a module's colour.
function mainCategory(byCategory, node) {
  const sums = new Array(10).fill(0);
  for (const [key, bytes] of byCategory) {
    const [module, category] = key.split("\n");
    const path = module === "" ? "(no module)"
                               : module.split(module.startsWith("/") ? "/" : ".").filter((p) => p !== "").join(".");
    if (path === node.path || path.startsWith(node.path + ".")) sums[category] += bytes;
  }
  return sums.indexOf(Math.max(...sums));
}

function nodeAt(node, path) {
  if (node.path === path) return node;
  for (const child of node.children) {
    if (child.children.length > 0 && (path === child.path || path.startsWith(child.path + "."))) return nodeAt(child, path);
  }
  return node;
}

export function makeTreemap(view) {
  const parent = document.getElementById("treemap");
  const controls = document.getElementById("treemap-controls");
  let measure = "peak";
  let path = "";

  const box = (node, rectangle, total, colour, inner) => {
    const label = node.name + ": " + formatBytes(node.value) + ", " + formatShare(node.value, total);
    const opens = !inner && node.children.length > 0;
    const made = element(opens ? "button" : "div", {
      class: "box c" + colour + (inner ? " inner" : ""), title: label, type: opens ? "button" : null,
      "aria-label": inner ? null : label + (opens ? ". Open" : ""), onclick: opens ? () => {
        path = node.path;
        render();
        const first = parent.querySelector("button");
        if (first) first.focus();
      } : () => {}});
    for (const [property, value] of [["left", rectangle.x], ["top", rectangle.y], ["width", rectangle.w - 1],
                                     ["height", rectangle.h - 1]]) {
      made.style[property] = Math.max(0, value) + "px";
    }
    if (rectangle.w > 46 && rectangle.h > 20) {
      const letters = Math.floor((rectangle.w - 10) / 7);
      made.append(element("span", {class: "label"}, shorten(node.name, letters)));
      if (!inner && rectangle.h > 40 && rectangle.w > 60) {
        made.append(element("span", {class: "bytes"}, formatBytes(node.value)));
      }
    }
    return made;
  };

  const render = () => {
    const width = parent.clientWidth;
    const choices = measures(view);
    const has = choices.filter(([, , counts]) => view.run.buffers.bytes.some((bytes, i) => bytes > 0 && counts(i)));
    if (!has.some(([key]) => key === measure)) measure = "peak";
    const {byModule, byCategory} = measured(view, choices.find(([key]) => key === measure)[2]);
    const root = moduleTree([...byModule.keys()], [...byModule.values()]);
    const at = nodeAt(root, path);
    path = at.path;
    const crumbs = element("nav", {class: "crumbs", "aria-label": "Modules"});
    const parts = path === "" ? [] : path.split(".");
    const crumb = (text, to) => element("button", {type: "button", class: "link", onclick: () => {
      path = to;
      render();
    }}, text);
    crumbs.append(crumb("model", ""));
    parts.forEach((part, i) => crumbs.append(" › ", crumb(part, parts.slice(0, i + 1).join("."))));
    crumbs.append(element("span", {class: "soft"}, "  " + formatBytes(at.value)));
    controls.replaceChildren(radioRow("measure", "Area is", has.map(([key, title]) => [key, title]), measure, (key) => {
      measure = key;
      render();
    }), crumbs);
    parent.style.height = TREEMAP_HEIGHT + "px";
    const children = at.children.length > 0 ? at.children : [at];
    const boxes = [];
    const rectangles = squarify(children.map((child) => child.value), 0, 0, width, TREEMAP_HEIGHT);
    children.forEach((child, i) => {
      const rectangle = rectangles[i];
      if (rectangle.w < 2 || rectangle.h < 2) return;
      const outer = box(child, rectangle, root.value, mainCategory(byCategory, child), false);
      const head = 42;
      if (child.children.length > 0 && rectangle.w > 40 && rectangle.h > head + 24) {
        const inner = squarify(child.children.map((c) => c.value), 3, head, rectangle.w - 7, rectangle.h - head - 4);
        child.children.forEach((grandchild, j) => {
          if (inner[j].w < 3 || inner[j].h < 3) return;
          outer.append(box(grandchild, inner[j], root.value, mainCategory(byCategory, grandchild), true));
        });
      }
      boxes.push(outer);
    });
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
