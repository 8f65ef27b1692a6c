// What the marks of a picture mean. Every mark that a picture can have stands here, drawn as the picture draws it.
import {element, svgElement} from "./dom.mjs";

const SHAPES = {
  peak: [["path", {class: "fill-text", d: "M5 2h8l-4 8z"}]],
  step: [["path", {class: "line-text", d: "M9 0v12"}]],
  phase: [["path", {class: "line-soft", d: "M9 0v12", "stroke-dasharray": "3 2"}]],
  limit: [["path", {class: "line-limit", d: "M0 6h18", "stroke-dasharray": "5 3"}]],
  base: [["path", {class: "line-soft", d: "M0 6h18", "stroke-dasharray": "5 3"}]],
  outline: [["path", {class: "line-text", d: "M1 9V5h5V2h6v4h5v3"}]],
  foundStep: [["path", {class: "fill-mark", d: "M7 2h4v8h-4z"}]],
  pale: [["rect", {class: "fill-mark", width: 18, height: 12, opacity: 0.22}]],
  free: [["rect", {class: "fill-free", width: 18, height: 12}]],
  chosen: [["rect", {class: "line-text", x: 1, y: 1, width: 16, height: 10, "stroke-width": 2}]],
  front: [["path", {class: "line-accent", d: "M0 9L18 3"}]],
  plan: [["circle", {class: "fill-accent", cx: 9, cy: 6, r: 4.5}]],
  worse: [["circle", {class: "line-soft", cx: 9, cy: 6, r: 4}]],
  chosenPlan: [["circle", {class: "fill-no line-text", cx: 9, cy: 6, r: 4.5}]],
};

export function mark(kind) {
  return svgElement("svg", {class: "mark", viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true"},
                    ...SHAPES[kind].map(([tag, attributes]) => svgElement(tag, attributes)));
}

// `items`: [mark or element, words].
export function legendOf(items) {
  return element("ul", {class: "marks"}, ...items.map(([sign, words]) =>
      element("li", {}, typeof sign === "string" ? mark(sign) : sign, words)));
}
