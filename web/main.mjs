// A report page draws itself; the view is kept in its address.
import {renderPage} from "./render.mjs";

function start() {
  renderPage(document.querySelector("main"), document);
}

if (typeof document !== "undefined") start();
