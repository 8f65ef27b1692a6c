// The chosen step and the chosen tensor, in words.
import {aliveAt, bufferName, stepText, whyAlive} from "./data.mjs";
import {colourKey, element} from "./dom.mjs";
import {formatBytes, formatCount, formatShare} from "./format.mjs";

const MOST_LISTED = 8;

// A tensor as a row of a list: name, category, bytes.
export function tensorButton(view, i, chosen, ...more) {
  const b = view.run.buffers;
  return element("button", {type: "button", onclick: chosen}, colourKey(b.category[i]),
                 element("span", {class: "name"}, bufferName(view.run, i)),
                 element("span", {class: "soft"}, view.categories[b.category[i]]),
                 element("span", {class: "n"}, formatBytes(b.bytes[i])), ...more);
}

// What is alive at the chosen step.
export function showStep(view) {
  const parent = view.part("step-detail");
  const {run, step} = view;
  const text = stepText(run, step);
  const alive = aliveAt(run, step);
  const shown = alive.slice(0, MOST_LISTED);
  const total = view.allBytes[step];
  const list = element("ol", {class: "bars"});
  for (const i of shown) {
    const bar = element("span", {class: "bar c" + run.buffers.category[i]});
    bar.style.width = (100 * run.buffers.bytes[i] / run.buffers.bytes[shown[0]]) + "%";
    list.append(element("li", {}, tensorButton(view, i, () => view.select(i, true), bar)));
  }
  const others = total - shown.reduce((sum, i) => sum + run.buffers.bytes[i], 0);
  const atPeak = step === run.peakStep;
  parent.hidden = false;
  parent.replaceChildren(
      element("h3", {}, "Step " + formatCount(step + 1) + (atPeak ? ", the peak: " : ": ") + formatBytes(total) +
                        (atPeak ? "" : " (" + formatShare(total, run.peakBytes) + " of the peak)")),
      element("p", {}, text.phase + ": ", element("code", {}, text.op),
              ...(text.where ? [" in ", element("code", {}, text.where)] : [])),
      element("p", {class: "hint"}, "The largest tensors alive then. Choose one to see why it is alive."), list,
      element("p", {class: "hint"},
              others <= 0 ? "" : (run.others.count > 0 ? "All" : formatCount(alive.length - shown.length)) +
                                 " others: " + formatBytes(others)));
}

// What a tip says of a tensor: name, bytes, from when to when, why.
export function tensorTip(view, i) {
  const run = view.run, b = run.buffers;
  const kept = run.strings[b.keptBy[i]];
  const at = (step) => formatCount(step + 1) + " (" + stepText(run, step).phase + ", " + stepText(run, step).op + ")";
  const rows = [["alive from step", b.made[i] ? at(b.begin[i]) : "1, there before the run"],
                ["to step", b.end[i] >= run.steps.count ? formatCount(b.end[i]) + ", the last" : at(b.end[i] - 1)]];
  if (kept) rows.push(["because", kept]);
  return [
    element("b", {}, bufferName(run, i)),
    element("div", {class: "row"}, colourKey(b.category[i]), element("span", {}, view.categories[b.category[i]]),
            element("span", {class: "n"}, formatBytes(b.bytes[i]))),
    element("div", {class: "soft"}, run.strings[b.text[i]]),
    ...rows.map(([name, value]) => element("div", {}, element("span", {class: "soft"}, name + " "), value))];
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
