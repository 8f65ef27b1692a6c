// node tests/web/screenshots.mjs OUT_DIR page.html...: each page at two widths, light and dark, as PNG files to look at.
import {basename, resolve} from "node:path";
import {writeFileSync} from "node:fs";
import {findChromium, openPage, startBrowser} from "./browser.mjs";

const [out, ...files] = process.argv.slice(2);
const browser = await startBrowser(findChromium());
for (const file of files) {
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
