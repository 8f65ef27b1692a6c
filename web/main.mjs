// A report page draws itself; its address keeps the view.
import {renderPage} from "./render.mjs";

function start() {
  let kept = location.hash;
  const page = renderPage(document.querySelector("main"), document, {fragment: kept, onView: (fragment) => {
    kept = fragment;
    history.replaceState(null, "", fragment === "" ? location.pathname + location.search : fragment);
  }});
  window.addEventListener("hashchange", () => {
    if (location.hash !== kept) page.show(location.hash);
  });
}

if (typeof document !== "undefined") start();
