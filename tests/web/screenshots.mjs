// node tests/web/screenshots.mjs OUT_DIR page.html...: each page whole, at two widths, light and dark, as PNG files to look at.
// With --one WIDTH HEIGHT light|dark PICTURE.png before one page: what a window of this size shows of it.
import {basename, resolve} from "node:path";
import {writeFileSync} from "node:fs";
import {findChromium, openPage, startBrowser} from "./browser.mjs";

const browser = await startBrowser(findChromium());
const take = async (file, size, picture, whole) => {
  const page = await openPage(browser, resolve(file), size);
  await page.settle();
  await page.settle();  // what is out of sight is drawn later
  writeFileSync(picture, await page.picture(whole));
  if (page.log.length > 0) console.log(picture, page.log);
  await page.close();
};
if (process.argv[2] === "--one") {
  const [width, height, theme, picture, file] = process.argv.slice(3);
  await take(file, {width: Number(width), height: Number(height), dark: theme === "dark"}, picture, false);
} else {
  const [out, ...files] = process.argv.slice(2);
  for (const file of files) {
    for (const [width, dark] of [[1280, false], [1280, true], [400, false], [400, true]]) {
      const name = basename(file, ".html") + "_" + width + (dark ? "_dark" : "") + ".png";
      await take(file, {width, height: 800, dark}, out + "/" + name, true);
    }
  }
}
await browser.close();
