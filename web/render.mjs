// The report page in an element of any document:
//
//   const shown = renderPage(element, source, {fragment: "#step=12", onView: (fragment) => {...}});
//   shown.show("#step=20");   // as after the back button
//   shown.close();            // empties the element; nothing of the page stays
//
// element    where the page is drawn; web/page.css styles it
// source     the Document of a report page: the page's own, or what DOMParser reads from the HTML that the program writes.
//            What stands in its <main> is moved into `element`, unless that is this <main>
// fragment   the view to begin with, as onView gave it: run, steps, what is chosen, searched and hidden
// onView     called with the view as a URL fragment, some 200 ms after it changed
//
// Everything is found below `element`, so a document may hold other things; nothing is kept outside of it.
import {makeCompare} from "./compare.mjs";
import {readData} from "./data.mjs";
import {behindFrame, radioRow} from "./dom.mjs";
import {makeFind} from "./find.mjs";
import {viewOfFragment} from "./fragment.mjs";
import {makeLifetimes} from "./lifetimes.mjs";
import {makeOverview} from "./overview.mjs";
import {makePlans} from "./plans.mjs";
import {zoomButtons} from "./steps.mjs";
import {makeTables} from "./tables.mjs";
import {makeTimeline} from "./timeline.mjs";
import {makeTreemap} from "./treemap.mjs";
import {makeView} from "./view.mjs";

// Which run the pictures show. Returns `choose(run)`.
function makeRunSwitch(view, data) {
  const nav = view.part("run-switch");
  const choose = (run) => {
    view.setRun(run, data.runs[run.base ?? data.runs.indexOf(run)].peakBytes);
    const input = nav.querySelectorAll("input")[data.runs.indexOf(run)];
    if (input) input.checked = true;
  };
  if (data.runs.length > 1) {
    nav.hidden = false;
    nav.append(radioRow("run", "The pictures show", data.runs.map((run, i) => [i, run.name]), 0, (i) => choose(data.runs[i])));
  }
  return choose;
}

// The view that `fragment` names, within what the run has. `choosePlan` or `chooseRun` is the page's.
function showFragment(view, data, fragment, choosePlan, chooseRun) {
  const kept = viewOfFragment(fragment);
  view.hidden = new Set((kept.hide || []).filter((c) => c < view.categories.length));
  view.query = kept.find || "";
  choosePlan ? choosePlan(kept.plan, kept.run) : chooseRun(data.runs[kept.run] || data.runs[0]);
  view.area = kept.area || "";
  view.module = kept.module || "";
  if (kept.step !== undefined) view.goTo(kept.step);
  if (kept.from !== undefined) view.zoomTo(kept.from, kept.to);
  if (kept.tensor !== undefined && kept.tensor < view.run.buffers.count) view.select(kept.tensor);
}

export function renderPage(element, source, {fragment = "", onView = null} = {}) {
  const main = source.querySelector("main");
  if (main !== element) element.replaceChildren(...main.childNodes);
  element.classList.add("scripted");
  const empty = () => {
    element.replaceChildren();
    element.classList.remove("scripted", "has-plans", "has-picture");
  };
  behindFrame(() => makeTables(element));
  const data = readData(JSON.parse(source.getElementById("page-data").textContent));
  if (data === null) {
    element.querySelector("#timeline").hidden = true;
    return {show: () => {}, close: empty};
  }
  for (const id of ["lifetimes", "modules"]) element.querySelector("#" + id).hidden = false;
  const view = makeView(element, data, onView);
  view.charts = [makeTimeline(view), makeOverview(view), makeFind(view), makeLifetimes(view), makeTreemap(view)];
  view.part("zoom").append(...zoomButtons(view));
  const choosePlan = data.plans.length > 0 ? makePlans(view, data) : null;
  const chooseRun = choosePlan ? null : makeRunSwitch(view, data);
  element.classList.toggle("has-plans", choosePlan !== null);
  if (data.runs.some((run) => run.base !== null)) view.charts.unshift(makeCompare(view, chooseRun));
  const show = (to) => showFragment(view, data, to, choosePlan, chooseRun);
  show(fragment);
  const looks = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
  looks.forEach((look) => look.addEventListener("change", view.recolour));
  return {show, close: () => {
    looks.forEach((look) => look.removeEventListener("change", view.recolour));
    view.close();
    empty();
  }};
}
