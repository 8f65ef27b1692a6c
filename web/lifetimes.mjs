// Every tensor as a rectangle: across its life, upwards where it lies in memory. What is empty within is fragmentation.
import {bufferName, whyAlive} from "./data.mjs";
import {colourKey, element, layeredCanvas, makeTip} from "./dom.mjs";
import {byteTicks, formatBytes, formatCount, formatTick, shorten} from "./format.mjs";
import {bufferAt, findBuffers, placeBuffers} from "./lifetimes_layout.mjs";
import {addStepControls, CHART_LEFT, CHART_RIGHT, drawBrush, drawPhases, stepInWords, stepScale} from "./timeline.mjs";

const LIFETIMES_HEIGHT = 420;
const LIFETIMES_TOP = 8;
const LIFETIMES_BOTTOM = 26;
const MOST_HITS_LISTED = 8;

export function makeLifetimes(view) {
  const parent = view.part("lifetimes-chart");
  const bottom = LIFETIMES_HEIGHT - LIFETIMES_BOTTOM;
  let placed = null;
  let placedFor = null;
  let found = null;  // Set of what the find box found, or null
  const place = () => {
    if (placedFor !== view.run) {
      placed = placeBuffers(view.run);
      placedFor = view.run;
    }
    return placed;
  };
  const y = (address) => bottom - (bottom - LIFETIMES_TOP) * address / Math.max(1, place().height);

  const rectangle = (scale, i) => {
    const b = view.run.buffers;
    const from = Math.max(b.begin[i], view.from);
    const to = Math.min(b.end[i], view.to);
    const [x, top] = [scale.x(from), y(placed.address[i] + b.bytes[i])];
    return [x, top, scale.x(to) - x, y(placed.address[i]) - top];
  };

  const draw = (context, size) => {
    const colours = view.colours;
    const scale = stepScale(view, size.width);
    const b = view.run.buffers;
    const {address, height} = place();
    context.fillStyle = colours.free;
    context.fillRect(CHART_LEFT, LIFETIMES_TOP, scale.inner, bottom - LIFETIMES_TOP);
    // One path for each colour: 50,000 rectangles in a dozen fills.
    for (let c = 0; c < view.categories.length; ++c) {
      for (const marked of found === null ? [true] : [false, true]) {
        context.fillStyle = colours.categories[c];
        context.globalAlpha = (marked ? 1 : 0.16) * (view.hidden.has(c) ? 0.12 : 1);
        context.beginPath();
        for (let i = 0; i < b.count; ++i) {
          if (b.category[i] !== c || b.end[i] <= view.from || b.begin[i] >= view.to) continue;
          if (found !== null && found.has(i) !== marked) continue;
          const [x, top, width, tall] = rectangle(scale, i);
          // A hair between neighbours where there is room for it.
          context.rect(x, top, Math.max(0.6, width - (width > 3 ? 0.6 : 0)),
                       Math.max(0.4, tall - (tall > 3 ? 0.6 : 0)));
        }
        context.fill();
      }
    }
    context.globalAlpha = 1;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of byteTicks(height)) {
      context.fillStyle = colours.soft;
      context.fillText(formatTick(tick), CHART_LEFT - 8, y(tick));
    }
    context.textBaseline = "alphabetic";
    drawPhases(context, view, size, colours, LIFETIMES_TOP, bottom);
  };

  const drawOver = (context, size) => {
    const scale = stepScale(view, size.width);
    drawBrush(context, view, LIFETIMES_TOP, bottom);
    const x = (scale.x(view.step) + scale.x(view.step + 1)) / 2;
    if (view.step >= view.from && view.step < view.to) {
      context.strokeStyle = view.colours.text;
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(x, LIFETIMES_TOP);
      context.lineTo(x, bottom);
      context.stroke();
      context.globalAlpha = 1;
    }
    for (const [i, wide] of [[view.hoverBuffer, 1], [view.buffer, 2]]) {
      const b = view.run.buffers;
      if (i === null || i < 0 || i >= b.count || b.end[i] <= view.from || b.begin[i] >= view.to) continue;
      place();
      const [left, top, width, tall] = rectangle(scale, i);
      context.strokeStyle = view.colours.text;
      context.lineWidth = wide;
      context.strokeRect(left - 0.5, top - 0.5, Math.max(3, width + 1), Math.max(3, tall + 1));
      context.lineWidth = 1;
    }
  };

  const layers = layeredCanvas(parent, LIFETIMES_HEIGHT, "Tensors by address; choose one through the find box", draw,
                               drawOver);
  const tip = makeTip(parent);
  const under = (x, yy) => {
    if (x === null || x < CHART_LEFT || x > layers.size.width - CHART_RIGHT) return -1;
    const address = (bottom - yy) / (bottom - LIFETIMES_TOP) * place().height;
    return bufferAt(view.run, place(), stepScale(view, layers.size.width).step(x), address);
  };
  addStepControls(view, layers, (x, yy) => {
    const i = x === null ? -1 : under(x, yy);
    view.hoverBuffer = i < 0 ? null : i;
    if (i < 0) {
      tip.hide();
    } else {
      const b = view.run.buffers;
      tip.show(x, yy, [
        element("b", {}, shorten(bufferName(view.run, i), 60)),
        element("div", {class: "row"}, colourKey(b.category[i]), element("span", {}, view.categories[b.category[i]]),
                element("span", {class: "n"}, formatBytes(b.bytes[i]))),
        element("div", {class: "soft"}, view.run.strings[b.text[i]])]);
    }
    layers.redrawOver();
  }, (x, yy) => {
    const i = under(x, yy);
    if (i >= 0) view.select(i);
  });

  // The find box.
  const list = element("ol", {class: "hits"});
  const message = element("p", {class: "hint", role: "status"});
  const input = element("input", {
    type: "search", id: "find-box", placeholder: "name, module, shape or reason", autocomplete: "off",
    oninput: () => search(), onkeydown: (event) => {
      if (event.key === "Enter" && list.firstChild) list.firstChild.firstChild.click();
    }});
  const search = () => {
    const hits = findBuffers(view.run, input.value);
    const searched = input.value.trim() !== "";
    found = searched ? new Set(hits) : null;
    const bytes = hits.reduce((sum, i) => sum + view.run.buffers.bytes[i], 0);
    message.textContent = !searched ? "" : hits.length === 0 ? "Nothing is called so." :
                       formatCount(hits.length) + (hits.length === 1 ? " tensor, " : " tensors, ") +
                       formatBytes(bytes) + " in all; the largest:";
    list.replaceChildren(...hits.slice(0, MOST_HITS_LISTED).map((i) => element("li", {}, element("button",
        {type: "button", onclick: () => view.select(i)}, colourKey(view.run.buffers.category[i]),
        element("span", {class: "name"}, shorten(bufferName(view.run, i), 60)),
        element("span", {class: "soft"}, shorten(view.run.strings[view.run.buffers.text[i]], 40)),
        element("span", {class: "n"}, formatBytes(view.run.buffers.bytes[i]))))));
    layers.redraw();
  };
  view.part("find").replaceChildren(element("label", {for: "find-box"}, "Find a tensor"), input, message,
                                                  list);
  return {
    layers,
    newRun: () => {
      if (input.value !== "") search();
      const note = view.root.querySelector("#lifetimes .addresses");
      if (note) note.remove();
      if (!place().simulated) {
        view.root.querySelector("#lifetimes .hint").after(element("p", {class: "hint addresses"},
            "This run's allocator tells no addresses: tensors are stacked at their exact sizes."));
      }
    },
    update: (whole) => {
      layers.over.setAttribute("aria-valuemin", "1");
      layers.over.setAttribute("aria-valuemax", String(view.run.steps.count));
      layers.over.setAttribute("aria-valuenow", String(view.step + 1));
      layers.over.setAttribute("aria-valuetext", stepInWords(view, view.step));
      whole ? layers.redraw() : layers.redrawOver();
    },
  };
}

// The chosen tensor: what it is, and why it is alive.
export function showTensor(view) {
  const parent = view.part("tensor-detail");
  if (view.buffer === null) {
    parent.replaceChildren();
    return;
  }
  const run = view.run;
  const b = run.buffers;
  const i = view.buffer;
  const facts = element("dl", {});
  const fact = (name, ...value) => facts.append(element("dt", {}, name), element("dd", {}, ...value));
  fact("what", colourKey(b.category[i]), " ", view.categories[b.category[i]]);
  fact("bytes", formatBytes(b.bytes[i]) + " (" + formatCount(b.bytes[i]) + ")");
  if (run.strings[b.text[i]]) fact("type and shape", run.strings[b.text[i]]);
  if (run.strings[b.module[i]]) fact("module", element("code", {}, run.strings[b.module[i]]));
  const toStep = (step) => element("button", {type: "button", class: "link", onclick: () => view.goTo(step)},
                                   "step " + formatCount(step + 1));
  fact("alive", toStep(b.begin[i]), " to ", toStep(b.end[i] - 1));
  if (b.address !== null && b.address[i] >= 0) fact("address", formatBytes(b.address[i]) + " from the start");
  parent.replaceChildren(
      element("h3", {}, element("bdi", {}, bufferName(run, i))), facts, element("h4", {}, "Why is it alive?"),
      element("ul", {class: "why"}, ...whyAlive(run, i, view.categories).map((line) => element("li", {}, line))));
}
