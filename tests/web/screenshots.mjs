// node tests/web/screenshots.mjs OUT_DIR page.html...: each page at two widths, light and dark, as PNG files to look at.
// With --view ID before them: one picture of each, of 1000 x 640 pixels from the element of this id on (page_view.png).
import {basename, resolve} from "node:path";
import {writeFileSync} from "node:fs";
import {findChromium, openPage, startBrowser} from "./browser.mjs";

const words = process.argv.slice(2);
const view = words[0] === "--view" ? words.splice(0, 2)[1] : null;
const [out, ...files] = words;
const browser = await startBrowser(findChromium());
for (const file of view === null ? [] : files) {
  const page = await openPage(browser, resolve(file), {width: 1000, height: 640});
  await page.evaluate("document.getElementById(" + JSON.stringify(view) + ").scrollIntoView()");
  await page.settle();
  writeFileSync(out + "/" + basename(file, ".html") + "_view.png", await page.picture());
}
for (const file of view === null ? files : []) {
  for (const [width, dark] of [[1280, false], [1280, true], [420, false], [420, true]]) {
    const page = await openPage(browser, resolve(file), {width, height: 800, dark});
    await page.settle();
    const name = basename(file, ".html") + "_" + width + (dark ? "_dark" : "") + ".png";
    writeFileSync(out + "/" + name, await page.picture(true));
    if (page.log.length > 0) console.log(name, page.log);
    await page.close();
  }
}
await browser.close();
