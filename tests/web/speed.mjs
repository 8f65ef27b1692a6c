// node tests/web/speed.mjs page.html...: how long until the first picture, and how long a key takes until its frame is drawn.
// Milliseconds in a headless Chromium without a graphics card.
import {resolve} from "node:path";
import {findChromium, openPage, startBrowser} from "./browser.mjs";

// The first fill of a canvas that is not hidden, and the frame behind it.
const WATCH = `(() => {
  const fill = CanvasRenderingContext2D.prototype.fill;
  CanvasRenderingContext2D.prototype.fill = function (...all) {
    if (!window.firstPicture) {
      window.firstPicture = -1;
      requestAnimationFrame(() => setTimeout(() => (window.firstPicture = performance.now()), 0));
    }
    return fill.apply(this, all);
  };
})()`;

// Each key, from its event to the frame that shows it; `quiet`: until everything has followed.
const KEYS = `(async () => {
  const chart = document.querySelector("#timeline-chart [role=slider]");
  const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
  const times = {};
  for (const [name, key] of [["zoom in", "+"], ["zoom out", "-"], ["pan a step", "ArrowLeft"], ["all", "0"], ["peak", "p"]]) {
    const all = [];
    for (let i = 0; i < 7; ++i) {
      const start = performance.now();
      chart.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      await frame();
      all.push(performance.now() - start);
      await new Promise((r) => setTimeout(r, 400));
    }
    times[name] = all.sort((a, b) => a - b)[3];
  }
  return times;
})()`;

const browser = await startBrowser(findChromium());
for (const file of process.argv.slice(2)) {
  const firsts = [];
  for (let i = 0; i < 5; ++i) {
    const page = await openPage(browser, resolve(file), {height: 900, before: WATCH});
    await page.settle();
    firsts.push(await page.evaluate("window.firstPicture"));
    if (i === 4) console.log(file, "keys", JSON.stringify(await page.evaluate(KEYS), (_, v) => (v.toFixed ? Math.round(v) : v)));
    await page.close();
  }
  console.log(file, "first picture", firsts.map(Math.round).sort((a, b) => a - b).join(" "));
}
await browser.close();
