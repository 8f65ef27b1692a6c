// node app_in_browser.mjs BUILD PROGRAM MODELS [PICTURES]: the app in a headless Chromium, opened from disk. With PICTURES, a
// folder, it leaves screenshots there.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createServer} from "node:http";
import {tmpdir} from "node:os";
import {basename, join, resolve} from "node:path";
import {findChromium, openPage, startBrowser} from "../web/browser.mjs";
import {writeLargeModel} from "./large_model.mjs";

const [build, program, models, pictures] = process.argv.slice(2).map((path) => resolve(path));
const app = resolve(build, "app/index.html");
const chromium = findChromium();
for (const [there, words] of [[existsSync(app), "no " + app + " (scripts/app builds it; wants emscripten)"],
                              [chromium !== null, "no Chromium here (apt-get install chromium, or CHROMIUM=path)"]]) {
  if (there) continue;
  console.log("skipped: " + words);
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), "onnx_mem_app_"));
const browser = await startBrowser(chromium);
const resnet50 = resolve(models, "resnet50.train.ts.op17.onnx");
let failed = 0;

const status = "document.getElementById('status').textContent";
const error = "document.getElementById('error').textContent";
const inReport = (expression) => "(() => { const document = window.document.getElementById('report').contentDocument; return " +
    expression + "; })()";
const sizes = inReport("[...document.querySelectorAll('.size')].map((size) => size.textContent)");

async function until(page, expression, seconds = 20) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
    const value = await page.evaluate("(() => { try { return " + expression + "; } catch { return null; } })()");
    if (value) return value;
    await new Promise((wake) => setTimeout(wake, 20));
  }
  throw new Error("in " + seconds + " s not: " + expression + "; the page says: " + await page.evaluate(status + " + " + error));
}

// As the file manager does it.
async function drop(page, ...files) {
  const data = {items: [], files, dragOperationsMask: 1};
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await page.send("Input.dispatchDragEvent", {type, x: 300, y: 150, data});
  }
}

async function choose(page, name, value) {
  await page.evaluate("(() => { const control = document.querySelector(`[name='" + name + "']`); control.value = " +
                      JSON.stringify(value) + "; control.dispatchEvent(new Event('change', {bubbles: true})); })()");
}
const press = (page, command) => page.evaluate("document.querySelector('[value=" + command + "]').click()");

// Milliseconds from the question to a report that is drawn, in the words of the page.
const answered = (page, seconds = 20) => until(page, "/^Answered in/.test(" + status + ") && " +
    inReport("document.readyState === 'complete' && document.querySelector('.size, pre') !== null") + " && " + status, seconds);

async function check(what, options, steps) {
  const page = await openPage(browser, options.url ?? app, options);
  try {
    await steps(page);
    assert.deepEqual(page.log, [], "nothing on the console, nothing from a network");
    console.log("ok " + what);
  } catch (problem) {
    ++failed;
    console.log("FAILED " + what + "\n" + problem.stack);
  }
  await page.close();
}

function sizesOf(...words) {
  const file = join(folder, "native.html");
  try {
    execFileSync(program, [...words, "-o", file], {stdio: "ignore"});
  } catch (problem) {
    if (problem.status !== 1) throw problem;  // 1: the answer is no
  }
  return [...readFileSync(file, "utf8").matchAll(/class="size">([^<]*)</g)].map(([, size]) => size);
}

// The page with a program that breaks off where no batch is named.
function breaking(file) {
  const from = "let module = null;";
  const text = readFileSync(app, "utf8");
  assert.ok(text.includes(from));
  writeFileSync(file, text.replace(from, "const whole = onnxMem; onnxMem = async (options) => { const program = await whole(options); " +
      "return {...program, callMain(words) { if (words.includes('--batch')) return program.callMain(words); " +
      "throw new WebAssembly.RuntimeError('unreachable'); }}; }; " + from));
  return file;
}

try {
  await check("a file that is dropped is answered; another batch, a card, another optimizer change the answer", {}, async (page) => {
    await until(page, status + " === 'Ready.'");
    await drop(page, resnet50);
    console.log("   ResNet-50, dropped: " + await answered(page));
    assert.deepEqual(await page.evaluate(sizes), sizesOf(resnet50));
    const written = ["native.html", "native.json"].map((name) => join(folder, name));
    execFileSync(program, [basename(resnet50), "-o", written[0], "-o", written[1]], {cwd: models, stdio: "ignore"});
    for (const [i, name] of ["REPORT", "JSON_REPORT"].entries()) {
      assert.equal(await page.evaluate("new TextDecoder().decode(state.written[" + name + "])"), readFileSync(written[i], "utf8"));
    }
    const times = [];
    for (const batch of ["8", "64", "32"]) {
      const before = Date.now();
      await choose(page, "--batch", batch);
      await until(page, sizes + ".join() === " + JSON.stringify(sizesOf(resnet50, "-b", batch).join()));
      times.push(Date.now() - before);
    }
    console.log("   ResNet-50, from the change to the report that is drawn: " + times.join(", ") + " ms");
    await choose(page, "--gpu", "RTX 4090");
    await until(page, inReport("document.querySelector('.verdict') !== null"));
    const adam = await page.evaluate(sizes);
    await choose(page, "--optimizer", "sgd");
    await until(page, sizes + ".join() !== " + JSON.stringify(adam.join()) + " && " + sizes + ".length");
    assert.match(await page.evaluate("location.hash"), /^#batch=32&optimizer=sgd&gpu=RTX\+4090$/);
    assert.match(await page.evaluate("document.getElementById('command-line').textContent"), /^onnx-mem resnet50.*--gpu 'RTX 4090'/);
    assert.ok(await page.evaluate(inReport("document.querySelector('main').classList.contains('scripted')")), "the report's script runs");
    assert.ok(await page.evaluate("document.getElementById('report').clientHeight > 1000"), "as tall as what it holds");
  });

  await check("the example is answered", {}, async (page) => {
    await page.evaluate("document.getElementById('example-button').click()");
    await answered(page);
    assert.deepEqual(await page.evaluate(sizes), sizesOf(resnet50));
  });

  await check("a plan, and which batch fits", {}, async (page) => {
    await page.evaluate("document.querySelector(`[name='more']`).value = '--iterations 40 --time-limit 0'");
    await page.evaluate("document.querySelector(`[name='--batch']`).value = '64'");
    await page.evaluate("document.querySelector(`[name='--budget']`).value = '4GiB'");
    await page.evaluate("document.querySelector('[value=plan]').checked = true");
    await drop(page, resnet50);
    await answered(page, 120);
    await until(page, inReport("/Checkpoint these/.test(document.getElementById('plan-detail').textContent)"));
    await page.evaluate("['more', '--budget'].forEach((name) => document.querySelector(`[name='${name}']`).value = '')");
    await page.evaluate("document.querySelector(`[name='--gpu']`).value = 'T4'");
    await press(page, "fit");
    await until(page, "/Answered/.test(" + status + ") && " + inReport("/Safe up to batch/.test(document.body.textContent)"), 120);
  });

  await check("a search that runs can be stopped", {}, async (page) => {
    await page.evaluate("document.querySelector(`[name='more']`).value = '--batch 64 --budget 3GiB --iterations 100000 --time-limit 60'");
    await page.evaluate("document.querySelector('[value=plan]').checked = true");
    await drop(page, resnet50);
    await until(page, "!document.getElementById('stop').hidden");
    await page.evaluate("document.getElementById('stop').click()");
    assert.equal(await page.evaluate(status), "Stopped.");
    await page.evaluate("document.querySelector(`[name='more']`).value = ''");
    await press(page, "analyze");
    await answered(page);
  });

  await check("what is no model is said to be none, and a wrong word which would be right", {}, async (page) => {
    const wrong = join(folder, "notes.txt");
    writeFileSync(wrong, "no model at all\n");
    await drop(page, wrong);
    assert.match(await until(page, error), /not.*ONNX[^]*\[not-onnx\]/i);
    assert.ok(await page.evaluate("document.getElementById('report').hidden"));
    await drop(page, resnet50);
    await answered(page);
    assert.equal(await page.evaluate(error), "");
    await choose(page, "--gpu", "RTX 409O");
    assert.match(await until(page, error), /unknown-gpu/);
  });

  await check("a program that breaks off says so, and the next question is answered", {url: breaking(join(folder, "breaking.html"))}, async (page) => {
    await drop(page, resnet50);
    assert.match(await until(page, error), /internal error: RuntimeError: unreachable/);
    await choose(page, "--batch", "8");
    await answered(page);
    assert.equal(await page.evaluate(error), "");
  });

  await check("a link keeps the question", {url: app + "#batch=16&optimizer=sgd&more=--loss+mean"}, async (page) => {
    assert.equal(await page.evaluate("document.querySelector(`[name='--optimizer']`).value"), "sgd");
    await drop(page, resnet50);
    await answered(page);
    assert.deepEqual(await page.evaluate(sizes), sizesOf(resnet50, "-b", "16", "--optimizer", "sgd", "--loss", "mean"));
  });

  const host = createServer((request, response) => response.setHeader("Content-Type", "text/html").end(readFileSync(app)));
  await new Promise((listens) => host.listen(0, "127.0.0.1", listens));
  await check("from a host it asks for nothing but itself", {url: "http://127.0.0.1:" + host.address().port + "/"}, async (page) => {
    await drop(page, resnet50);
    await answered(page);
    assert.deepEqual(await page.evaluate(sizes), sizesOf(resnet50));
  });
  host.closeAllConnections();
  host.close();

  for (const [words, rows, columns] of [["300 MB", 8192, 9600], ["5 GB", 65536, 20000]]) {
    await check("of a file of " + words + " the structure is read, not the weights", {}, async (page) => {
      const large = join(folder, "large.onnx");
      writeLargeModel(large, rows, columns);
      await drop(page, large);
      console.log("   " + words + ": " + await answered(page));
      assert.deepEqual(await page.evaluate(sizes), sizesOf(large));
    });
  }

  await check("the policy forbids the network, and the page stands without scripts' help from elsewhere", {}, async (page) => {
    const policy = await page.evaluate("document.querySelector('[http-equiv=Content-Security-Policy]').content");
    assert.match(policy, /^default-src 'none';/);
    assert.doesNotMatch(policy, /https?:|connect-src|\*|unsafe-inline|unsafe-eval(?<!wasm-unsafe-eval)/);
  });

  for (const [name, width, height, dark] of [["app", 1280, 900, false], ["app-phone", 400, 800, false], ["app-dark", 1280, 900, true]]) {
    await check("at " + width + " columns" + (dark ? ", dark," : "") + " nothing is wider than the page", {width, height, dark}, async (page) => {
      await page.evaluate("document.querySelector(`[name='--batch']`).value = '64'");
      await page.evaluate("document.querySelector(`[name='--gpu']`).value = 'RTX 4090'");
      await until(page, status + " === 'Ready.'");
      await drop(page, resnet50);
      await answered(page);
      await page.settle();
      assert.ok(await page.evaluate("document.documentElement.scrollWidth <= " + width));
      assert.ok(await page.evaluate(inReport("document.documentElement.scrollWidth <= " + width)));
      if (pictures) writeFileSync(join(pictures, name + ".png"), await page.picture());
    });
  }
} finally {
  await browser.close();
  rmSync(folder, {recursive: true, force: true});
}
process.exit(failed === 0 ? 0 : 1);
