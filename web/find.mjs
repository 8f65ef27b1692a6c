// The search box above the timeline: tensors, modules and operators. What is found stays in full
// colour in the timeline, its overview and the lifetimes.
import {bufferName} from "./data.mjs";
import {colourKey, element} from "./dom.mjs";
import {formatBytes, formatCount} from "./format.mjs";
import {nextOf} from "./search.mjs";

const MOST_OF_A_KIND = 5;

function countOf(count, word) {
  return formatCount(count) + " " + word + (count === 1 ? "" : "s");
}

// "12 tensors, 588 MiB; 3 modules; 1 operator"
export function foundInWords(run, found) {
  const bytes = found.tensors.reduce((sum, i) => sum + run.buffers.bytes[i], 0);
  const parts = [];
  if (found.tensors.length > 0) parts.push(countOf(found.tensors.length, "tensor") + ", " + formatBytes(bytes));
  if (found.modules.length > 0) parts.push(countOf(found.modules.length, "module"));
  if (found.operators.length > 0) parts.push(countOf(found.operators.length, "operator"));
  return parts.length === 0 ? "Nothing is called so." : parts.join("; ");
}

export function makeFind(view) {
  const hits = element("div", {class: "hits", role: "group", "aria-label": "Found", hidden: true});
  const message = element("p", {class: "hint", role: "status"});
  const input = element("input", {type: "search", id: "find-box", placeholder: "tensor, module or operator",
                                  "aria-label": "Find tensors, modules, operators", autocomplete: "off",
                                  spellcheck: "false"});
  const button = (chosen, ...children) => element("li", {}, element("button", {type: "button", onclick: chosen}, ...children));
  const tensorHit = (i) => {
    const {run} = view, b = run.buffers;
    return button(() => choose(() => view.select(i, true)), colourKey(b.category[i]),
                  element("span", {class: "name"}, bufferName(run, i)), element("span", {class: "soft"}, run.strings[b.text[i]]),
                  element("span", {class: "n"}, formatBytes(b.bytes[i])));
  };
  const groupHit = (group) => button(() => view.goTo(nextOf(group.steps, view.step)),
      element("span", {class: "name"}, group.name), element("span", {class: "n"}, countOf(group.steps.length, "step")));
  const section = (title, list, hit) => list.length === 0 ? [] :
      [element("p", {class: "soft"}, title + (list.length > MOST_OF_A_KIND ? ", the first " + MOST_OF_A_KIND : "")),
       element("ol", {}, ...list.slice(0, MOST_OF_A_KIND).map(hit))];
  const close = () => (hits.hidden = true);
  const choose = (act) => {
    close();
    act();
  };
  const list = () => {
    const {found} = view;
    hits.replaceChildren(...(found === null ? [] : [...section("Tensors, largest first", found.tensors, tensorHit),
        ...section("Modules: each choice is the next of its steps", found.modules, groupHit),
        ...section("Operators: each choice is the next of its steps", found.operators, groupHit)]));
    hits.hidden = hits.childElementCount === 0;
  };
  input.addEventListener("input", () => {
    view.search(input.value);
    list();
  });
  const buttons = () => [...hits.querySelectorAll("button")];
  const box = element("div", {class: "find-holder"}, input, hits);
  // Arrows go along what was found, Enter takes the first, Escape closes the list and then empties the box.
  box.addEventListener("keydown", (event) => {
    const at = buttons().indexOf(event.target);
    if (event.key === "Enter" && at < 0 && buttons().length > 0) {
      if (hits.hidden) list();
      buttons()[0].click();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (hits.hidden) list();
      const to = at + (event.key === "ArrowDown" ? 1 : -1);
      (buttons()[to] || (to < 0 ? input : event.target)).focus();
    } else if (event.key === "Escape" && !hits.hidden) {
      close();
      input.focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  box.addEventListener("focusout", (event) => {
    if (!box.contains(event.relatedTarget)) close();
  });
  view.part("find").replaceChildren(box, message);
  return {newSearch: () => {
    if (input.value !== view.query) input.value = view.query;
    message.textContent = view.found === null ? "" : foundInWords(view.run, view.found);
  }};
}
