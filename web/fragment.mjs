// The view as a URL fragment and back: "#run=1&steps=11-50&step=30&find=conv". Steps count from 1, as in all words of the page.
// What a page shows by itself is left out, so that an untouched page has no fragment.

const NUMBER = /^\d+$/;

// `view`: {run, plan, from, to, step, tensor, find, hide, area, module}, each may be null or missing.
export function fragmentOf(view) {
  const words = new URLSearchParams();
  const add = (name, value) => {
    if (value !== null && value !== undefined && value !== "") words.set(name, String(value));
  };
  add("run", view.run);
  add("plan", view.plan);
  if (view.from !== undefined && view.from !== null) add("steps", view.from + 1 + "-" + view.to);
  add("step", view.step === null || view.step === undefined ? null : view.step + 1);
  add("tensor", view.tensor);
  add("find", view.find);
  add("hide", (view.hide || []).join("."));
  add("area", view.area);
  add("module", view.module);
  const text = words.toString();
  return text === "" ? "" : "#" + text;
}

// What of it can be read; the rest is left out, since anybody may write an address.
export function viewOfFragment(fragment) {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const view = {};
  const number = (name, less = 0) => (NUMBER.test(words.get(name) ?? "") ? Number(words.get(name)) - less : undefined);
  const set = (name, value) => {
    if (value !== undefined && value !== null) view[name] = value;
  };
  set("run", number("run"));
  set("plan", number("plan"));
  const steps = /^(\d+)-(\d+)$/.exec(words.get("steps") ?? "");
  if (steps && Number(steps[1]) >= 1 && Number(steps[2]) >= Number(steps[1])) {
    view.from = Number(steps[1]) - 1;
    view.to = Number(steps[2]);
  }
  const step = number("step", 1);
  if (step >= 0) view.step = step;
  set("tensor", number("tensor"));
  set("find", words.get("find"));
  const hide = (words.get("hide") ?? "").split(".").filter((c) => NUMBER.test(c)).map(Number);
  if (hide.length > 0) view.hide = hide;
  set("area", words.get("area"));
  set("module", words.get("module"));
  return view;
}
