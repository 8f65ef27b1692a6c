// Elements, without markup from strings: names of a model are text and never anything else.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      made.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== null) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children);
  return made;
}

const OUT_OF_SIGHT_MS = 120;

export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A square in the colour of a category.
export function colourKey(category) {
  return element("i", {class: "key c" + category});
}

// Radio buttons in one row. `choices`: [value, text]; calls `chosen(value)`.
export function radioRow(name, title, choices, checked, chosen) {
  const row = element("fieldset", {class: "radios"}, element("legend", {}, title));
  for (const [value, text] of choices) {
    const input = element("input", {type: "radio", name, value, onchange: () => chosen(value)});
    input.checked = value === checked;
    row.append(element("label", {}, input, element("span", {}, text)));
  }
  return row;
}

// A canvas that fills `parent` in width, with a second one above it for what follows the pointer, which has the
// `attributes`. `draw(context, size)` and `drawOver(context, size)` get sizes in CSS pixels. What is out of sight is drawn
// when nothing has changed for a while, so that what is in sight follows at once.
export function layeredCanvas(parent, height, attributes, draw, drawOver) {
  const base = element("canvas", {"aria-hidden": "true"});
  const over = element("canvas", {tabindex: "0", ...attributes});
  parent.replaceChildren(base, over);
  const size = {width: 0, height};
  const paint = (canvas, painter) => {
    const ratio = window.devicePixelRatio || 1;
    const [width, tall] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (canvas.width !== width || canvas.height !== tall) {
      canvas.width = width;
      canvas.height = tall;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    painter(context, size);
  };
  let waiting = false;
  let later = 0;
  const layers = {
    base, over, size,
    redrawOver: () => paint(over, drawOver),
    // At most once per frame, however often it is asked for.
    redraw: () => {
      clearTimeout(later);
      if (waiting) return;
      const box = parent.getBoundingClientRect();
      if (box.top > window.innerHeight || box.bottom < 0) {
        later = setTimeout(layers.redrawNow, OUT_OF_SIGHT_MS);
        return;
      }
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        layers.redrawNow();
      });
    },
    redrawNow: () => {
      if (size.width === 0) return;
      paint(base, draw);
      paint(over, drawOver);
    },
  };
  parent.style.height = height + "px";
  new ResizeObserver(() => {
    if (parent.clientWidth === size.width || parent.clientWidth === 0) return;
    size.width = parent.clientWidth;
    layers.redrawNow();
  }).observe(parent);
  size.width = parent.clientWidth;
  return layers;
}

// `act` behind the next frame: what is above it on the page is drawn first.
export function behindFrame(act) {
  requestAnimationFrame(() => setTimeout(act, 0));
}

// Colours of the style sheet, which knows light from dark; of `count` categories.
export function readColours(root, count) {
  const style = getComputedStyle(root);
  const of = (name) => style.getPropertyValue("--" + name).trim();
  const categories = [];
  for (let c = 0; c < count; ++c) categories.push(of("c" + c));
  return {categories, text: of("text"), soft: of("soft"), line: of("line"), surface: of("surface"), page: of("page"), mark: of("mark"),
          limit: of("limit"), free: of("free")};
}

// A box beside the pointer.
export function makeTip(parent) {
  const tip = element("div", {class: "tip", "aria-hidden": "true"});
  parent.append(tip);
  return {
    hide: () => tip.classList.remove("shown"),
    show: (x, y, children) => {
      tip.replaceChildren(...children);
      tip.classList.add("shown");
      const [width, wide] = [tip.offsetWidth, parent.clientWidth];
      const left = x + 14 + width > wide ? x - 14 - width : x + 14;
      tip.style.left = Math.max(0, Math.min(left, wide - width)) + "px";
      tip.style.top = Math.max(0, y - 10) + "px";
    },
  };
}
