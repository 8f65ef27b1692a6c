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
import {readData} from "./data.mjs";
import {radioRow} from "./dom.mjs";
import {makeLifetimes} from "./lifetimes.mjs";
import {makePlans} from "./plans.mjs";
import {makeTables} from "./tables.mjs";
import {makeTimeline} from "./timeline.mjs";
import {makeTreemap} from "./treemap.mjs";
import {makeView} from "./view.mjs";

export function renderPage(element, source, {fragment = "", onView = null} = {}) {
  const main = source.querySelector("main");
  if (main !== element) element.replaceChildren(...main.childNodes);
  element.classList.add("scripted");
  makeTables(element);
  const data = readData(JSON.parse(source.getElementById("page-data").textContent));
  const close = [() => element.replaceChildren()];
  const shown = {show: () => {}, close: () => close.forEach((act) => act())};
  if (data === null) {
    element.querySelector("#timeline").hidden = true;
    return shown;
  }
  for (const id of ["lifetimes", "modules"]) element.querySelector("#" + id).hidden = false;
  const view = makeView(element, data);
  view.charts = [makeTimeline(view), makeLifetimes(view), makeTreemap(view)];
  if (data.plans.length > 0) {
    makePlans(view, data);
  } else {
    view.setRun(data.runs[0]);
    if (data.runs.length > 1) {
      const nav = view.part("run-switch");
      nav.hidden = false;
      nav.append(radioRow("run", "The pictures show", data.runs.map((run, i) => [i, run.name]), 0,
                          (i) => view.setRun(data.runs[i], data.runs[data.runs[i].base ?? i].peakBytes)));
    }
  }
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", view.recolour);
  close.push(() => scheme.removeEventListener("change", view.recolour));
  return shown;
}
