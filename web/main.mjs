// A report page draws itself; its address keeps the view.
import {renderPage} from "./render.mjs";

function start() {
  let kept = location.hash;
  const page = renderPage(document.querySelector("main"), document, {fragment: kept, onView: (fragment) => {
    kept = fragment;
    history.replaceState(null, "", location.href.split("#")[0] + fragment);  // of a frame too, which has no path
  }});
  window.addEventListener("hashchange", () => {
    if (location.hash !== kept) page.show(location.hash);
  });
}

if (typeof document !== "undefined") start();
