// The trade-off curve of plans. Each point is a button: the pictures, the segments and the code follow it.
import {element, radioRow, svgElement} from "./dom.mjs";
import {byteTicks, formatBytes, formatTick} from "./format.mjs";
import {legendOf} from "./legend.mjs";

const PLAN_WIDTH = 440;
const PLAN_HEIGHT = 330;
const LABEL_WIDTH = 110;

export function percentText(ratio) {
  return "+" + (100 * ratio).toFixed(1) + " %";
}

// What a slowdown is a share of: --cost-in of the plans.
export function priceName(costIn) {
  return costIn === "flops" ? "compute" : "time";
}

// Marks of an axis of slowdowns from 0 to `most`: 1, 2 or 5 times a power of ten apart, at most six.
export function ratioTicks(most) {
  let apart = 0.001;
  const factors = [2, 2.5, 2];
  for (let i = 0; most / apart > 6; ++i) apart *= factors[i % 3];
  const ticks = [];
  for (let k = 0; k * apart <= most * 1.0001; ++k) ticks.push(k * apart);
  return ticks;
}

// Where words stand along the line at `height` so that they hide no point: [x, y, anchor].
export function labelPlace(points, height, left, right) {
  const free = (from, to, top) => !points.some(([x, y]) => x > from - 8 && x < to + 8 && y > top - 8 && y < top + 22);
  const places = [[right, height - 5, "end"], [right, height + 15, "end"], [left, height - 5, "start"], [left, height + 15, "start"]];
  return places.find(([x, y, anchor]) => (anchor === "end" ? free(x - LABEL_WIDTH, x, y - 13) : free(x, x + LABEL_WIDTH, y - 13))) ||
         places[1];
}

// Which rank of a step over several cards the pictures show, where the page has more than one: `place` of plan.ranks.
function showRank(view, data, plan, place) {
  const nav = view.part("run-switch");
  const choose = (at) => {
    view.rank = plan.ranks[at] ? at : 0;
    const {run, base} = plan.ranks[view.rank] || {run: plan.run, base: 0};
    view.setRun(data.runs[run], data.runs[base].peakBytes);
  };
  nav.hidden = plan.ranks.length < 2;
  nav.replaceChildren();
  choose(place);
  if (!nav.hidden) nav.append(radioRow("rank", "The pictures show", plan.ranks.map((rank, i) => [i, rank.name]), view.rank, choose));
}

// Returns `choose(id, rank)`, which shows the plan of this id, else the chosen one.
export function makePlans(view, data) {
  const section = view.part("plans");
  section.hidden = false;
  const onDevice = data.budgetOn === "device";
  const price = priceName(data.costIn);
  section.querySelector("h2").textContent = "Plans: memory against " + price;
  const bytesOf = (plan) => (onDevice ? plan.device_bytes : plan.peak_bytes);
  const [left, right, top, bottom] = [70, 16, 14, 44];
  const mostBytes = 1.06 * Math.max(...data.plans.map(bytesOf), data.budgetBytes || 0);
  const mostSlow = 1.05 * Math.max(0.01, ...data.plans.map((plan) => plan.slowdown));
  const x = (slowdown) => left + (PLAN_WIDTH - left - right) * slowdown / mostSlow;
  const y = (bytes) => PLAN_HEIGHT - bottom - (PLAN_HEIGHT - top - bottom) * bytes / mostBytes;
  const svg = svgElement("svg", {viewBox: "0 0 " + PLAN_WIDTH + " " + PLAN_HEIGHT, class: "curve", role: "group",
                                 "aria-label": "Plans: memory against extra " + price});
  const text = (at, to, anchor, words) => {
    const made = svgElement("text", {x: at, y: to, "text-anchor": anchor});
    made.textContent = words;
    svg.append(made);
  };
  for (const tick of byteTicks(mostBytes)) {
    svg.append(svgElement("line", {class: "grid", x1: left, x2: PLAN_WIDTH - right, y1: y(tick), y2: y(tick)}));
    text(left - 8, y(tick) + 4, "end", formatTick(tick));
  }
  for (const tick of ratioTicks(mostSlow)) {
    text(x(tick), PLAN_HEIGHT - bottom + 18, "middle", percentText(tick).replace(".0", ""));
  }
  text((left + PLAN_WIDTH) / 2, PLAN_HEIGHT - 6, "middle", "extra " + price + " of a training step");
  if (data.budgetBytes !== null) {
    svg.append(svgElement("line", {class: "limit", x1: left, x2: PLAN_WIDTH - right, y1: y(data.budgetBytes),
                                   y2: y(data.budgetBytes)}));
    const taken = data.plans.map((plan) => [x(plan.slowdown), y(bytesOf(plan))]);
    const [at, to, anchor] = labelPlace(taken, y(data.budgetBytes), left, PLAN_WIDTH - right);
    text(at, to, anchor, "budget " + formatBytes(data.budgetBytes));
  }
  const kept = data.plans.filter((plan) => !plan.dominated).sort((a, b) => a.slowdown - b.slowdown);
  svg.append(svgElement("polyline", {class: "front",
    points: kept.map((plan) => x(plan.slowdown) + "," + y(bytesOf(plan))).join(" ")}));
  const points = data.plans.map((plan) => {
    const label = (plan.label || plan.method) + ": " + formatBytes(bytesOf(plan)) + ", " + percentText(plan.slowdown) + " " + price +
                  (plan.dominated ? ", worse than another" : "");
    const point = svgElement("circle", {class: "point" + (plan.dominated ? " hollow" : ""), cx: x(plan.slowdown),
      cy: y(bytesOf(plan)), r: 6, tabindex: "0", role: "button", "aria-label": label});
    const title = svgElement("title");
    title.textContent = label;
    point.append(title);
    point.addEventListener("click", () => choose(plan));
    point.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose(plan);
      }
      const order = [...data.plans].sort((a, b) => a.slowdown - b.slowdown);
      const to = order.indexOf(plan) + (event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0);
      if (to !== order.indexOf(plan) && order[to]) {
        event.preventDefault();
        choose(order[to]);
        points[data.plans.indexOf(order[to])].focus();
      }
    });
    return point;
  });
  svg.append(...points);
  view.part("plan-curve").replaceChildren(svg);

  const choose = (plan, rank = 0) => {
    view.plan = plan.id;
    points.forEach((point, i) => point.setAttribute("aria-pressed", String(data.plans[i] === plan)));
    showRank(view, data, plan, rank);
    const none = plan.segments.length === 0;
    const title = (none ? "No checkpoints" : plan.label || "plan " + plan.id) + ": " + formatBytes(plan.device_bytes) +
                  " on the GPU, " + percentText(plan.slowdown) + " " + price + (plan.chosen ? " (chosen)" : "");
    const parts = [element("h3", {}, title)];
    if (plan.settings) parts.push(element("p", {}, "Needs " + plan.settings + " in the environment"));
    if (!none) {
      const rows = plan.segments.map((segment, i) => element("tr", {}, element("td", {class: "n"}, String(i + 1)),
          element("td", {}, element("code", {}, segment.modules.join(", ") || segment.nodes + " nodes")),
          element("td", {class: "n"}, formatBytes(segment.saves_bytes))));
      parts.push(element("div", {class: "scroll"}, element("table", {}, element("caption", {}, "Checkpoint these"),
          element("thead", {}, element("tr", {}, element("th", {class: "n"}, "#"), element("th", {}, "modules"),
                                       element("th", {class: "n"}, "frees"))), element("tbody", {}, ...rows))));
    }
    if (plan.code) {
      const copy = element("button", {type: "button", onclick: async () => {
        await navigator.clipboard.writeText(plan.code);
        copy.textContent = "Copied";
      }}, "Copy");
      parts.push(element("details", {}, element("summary", {}, "PyTorch code that applies it"), copy,
                         element("pre", {}, plan.code)));
    }
    view.part("plan-detail").replaceChildren(...parts);
  };
  view.part("plan-marks").replaceChildren(legendOf([["plan", "a plan"], ["chosenPlan", "shown"],
      ...(data.plans.some((plan) => plan.dominated) ? [["worse", "worse than another"]] : []),
      ["front", "from best to best"], ...(data.budgetBytes === null ? [] : [["limit", "budget"]])]));
  return (id, rank) =>
      choose(data.plans.find((plan) => plan.id === id) || data.plans.find((plan) => plan.chosen) || data.plans[0], rank);
}
