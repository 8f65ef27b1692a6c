// node tests/web/page_in_browser.mjs ONNX_MEM MODELS_DIR: the page as its readers use it, in a headless Chromium.
// Exit 77 (skipped) where there is none; the environment's CHROMIUM names another.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {findChromium, openPage, startBrowser} from "./browser.mjs";
import {largeRun} from "./large_run.mjs";

const [program, models] = process.argv.slice(2);
const chromium = findChromium();
if (chromium === null) {
  console.log("skipped: no Chromium here (apt-get install chromium, or CHROMIUM=path)");
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), "onnx_mem_page_"));
const made = (name, ...words) => {
  const file = join(folder, name);
  try {
    execFileSync(program, [...words, "-o", file], {stdio: "ignore"});
  } catch (error) {
    if (error.status !== 1) throw error;  // 1: done, and the answer is no
  }
  return file;
};
const browser = await startBrowser(chromium);
let failed = 0;
const check = async (what, file, options, steps) => {
  const page = await openPage(browser, file, options);
  try {
    if (options.script !== false) await page.settle();
    await steps(page);
    assert.deepEqual(page.log, [], "nothing on the console, nothing asked of a network");
    console.log("ok " + what);
  } catch (error) {
    ++failed;
    console.log("FAILED " + what + "\n" + error.stack);
  }
  await page.close();
};
const text = (selector) => "document.querySelector(" + JSON.stringify(selector) + ").innerText";
const middleOf = (page, selector) => page.evaluate(
    "(() => { const e = document.querySelector(" + JSON.stringify(selector) + "); e.scrollIntoView({block: 'center'});" +
    "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()");
const valueNow = "Number(document.querySelector('#timeline-chart [role=slider]').getAttribute('aria-valuenow'))";
const valueText = "document.querySelector('#timeline-chart [role=slider]').getAttribute('aria-valuetext')";

try {
  const resnet = made("resnet18.html", join(models, "resnet18.train.ts.op17.onnx"), "-b", "64", "--gpu-memory", "2GiB");

  await check("the pointer over the timeline tells step, operator and categories", resnet, {}, async (page) => {
    const [x, y] = await middleOf(page, "#timeline-chart");
    await page.mouse("mouseMoved", x, y);
    await page.settle();
    const tip = await page.evaluate(text("#timeline-chart .tip.shown"));
    assert.match(tip, /[KMG]iB at step \d+/);
    assert.match(tip, /(forward|loss|backward): \w+/);
    assert.match(tip, /saved activations/);
  });

  await check("dragging zooms, a double click shows all again", resnet, {}, async (page) => {
    const [x, y] = await middleOf(page, "#timeline-chart");
    const before = await page.evaluate(valueNow);
    await page.mouse("mouseMoved", x - 100, y);
    await page.mouse("mousePressed", x - 100, y, 1);
    await page.mouse("mouseMoved", x + 50, y, 1);
    await page.mouse("mouseReleased", x + 50, y, 1);
    await page.settle();
    // The same pixels are fewer steps now.
    const stepAt = async (at) => {
      await page.mouse("mouseMoved", at, y);
      await page.settle();
      return Number((await page.evaluate(text("#timeline-chart .tip.shown b"))).match(/step ([\d,]+)/)[1].replace(",", ""));
    };
    const zoomed = await stepAt(x + 100) - await stepAt(x - 100);
    await page.evaluate("[...document.querySelectorAll('.zoom button')].find((b) => b.innerText === 'All').click()");
    await page.settle();
    const all = await stepAt(x + 100) - await stepAt(x - 100);
    assert.ok(zoomed * 3 < all, zoomed + " of " + all);
    assert.equal(await page.evaluate(valueNow), before, "dragging does not choose a step");
  });

  await check("the find box finds a tensor and tells why it is alive", resnet, {}, async (page) => {
    await page.evaluate("document.getElementById('find-box').focus()");
    await page.send("Input.insertText", {text: "layer1.0 conv1 64x64x56x56"});
    await page.settle();
    assert.match(await page.evaluate(text("#find > .hint")), /\d+ tensors?, /);
    assert.match(await page.evaluate(text(".hits")), /Tensors, largest first/);
    await page.key("Enter");
    await page.settle();
    assert.match(await page.evaluate(text("#tensor-detail")), /Why is it alive\?[^]*(Saved by|Made in step)/);
    await page.evaluate("document.getElementById('find-box').value = 'no such tensor'");
    await page.evaluate("document.getElementById('find-box').dispatchEvent(new Event('input'))");
    assert.match(await page.evaluate(text("#find > .hint")), /Nothing is called so/);
  });

  await check("modules and operators are found, and keys go along their steps", resnet, {}, async (page) => {
    await page.evaluate("document.getElementById('find-box').focus()");
    await page.send("Input.insertText", {text: "max_pool2d"});
    await page.settle();
    const list = await page.evaluate(text(".hits"));
    assert.match(list, /Operators[^]*max_pool2d_with_indices_backward/);
    await page.key("ArrowDown");
    await page.evaluate("[...document.querySelectorAll('.hits button')].find((b) => /backward/.test(b.innerText)).click()");
    assert.match(await page.evaluate(valueText), /backward, max_pool2d_with_indices_backward/);
    await page.key("Escape");
    assert.ok(await page.evaluate("document.querySelector('.hits').hidden && document.activeElement.id === 'find-box'"));
  });

  const overviewText = "document.querySelector('#timeline-overview [role=slider]').getAttribute('aria-valuetext')";
  await check("the overview zooms by pointer and by keys", resnet, {}, async (page) => {
    const [x, y] = await middleOf(page, "#timeline-overview");
    const windowNow = async () => (await page.evaluate(overviewText)).match(/\d+/g).map(Number);
    const [, all, count] = await windowNow();
    assert.equal(all, count);
    const drag = async (from, to) => {
      await page.mouse("mouseMoved", from, y);
      await page.mouse("mousePressed", from, y, 1);
      await page.mouse("mouseMoved", (from + to) / 2, y, 1);
      await page.mouse("mouseMoved", to, y, 1);
      await page.mouse("mouseReleased", to, y, 1);
      await page.settle();
    };
    await drag(x - 100, x + 100);
    const [from, to] = await windowNow();
    assert.ok(from > count / 4 && to < 3 * count / 4, from + " to " + to);
    await drag(x, x + 150);
    const [later, end] = await windowNow();
    assert.ok(later > from && end - later === to - from, "dragged from within it moves and keeps its length");
    await page.evaluate("document.querySelector('#timeline-overview [role=slider]').focus()");
    await page.key("Home");
    assert.equal((await windowNow())[0], 1);
    await page.key("0");
    assert.equal((await windowNow())[1], count);
  });

  await check("the address keeps the view", resnet, {fragment: "#run=1&steps=5-40&step=9&find=conv&hide=0"}, async (page) => {
    assert.match(await page.evaluate(overviewText), /^steps 5 to 40 of /);
    assert.equal(await page.evaluate(valueNow), 9);
    assert.equal(await page.evaluate("document.getElementById('find-box').value"), "conv");
    assert.equal(await page.evaluate("document.querySelectorAll('#run-switch input')[1].checked"), true);
    await page.evaluate("document.querySelector('#timeline-chart [role=slider]').focus()");
    await page.key("ArrowRight");
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal(await page.evaluate("location.hash"), "#run=1&steps=5-40&step=10&find=conv&hide=0");
    await page.evaluate("location.hash = '#step=3'");
    await page.settle();
    assert.equal(await page.evaluate(valueNow), 3);
    assert.doesNotMatch(await page.evaluate(text("#find > .hint")), /tensor/);
  });

  const aboveFold = (selector) => "document.querySelector('" + selector + "').getBoundingClientRect().bottom <= 900";
  await check("the answer, the timeline and its overview stand above the fold", resnet, {height: 900}, async (page) => {
    for (const part of ["#headline", "#timeline-chart", "#timeline-overview"]) assert.ok(await page.evaluate(aboveFold(part)), part);
    const bottoms = "['.size', '.verdict'].map((s) => document.querySelector(s).getBoundingClientRect()).map((b) => b.top + b.height / 2)";
    const [size, verdict] = await page.evaluate(bottoms);
    assert.ok(Math.abs(size - verdict) < 20, "figure and verdict on one line");
  });

  await check("headings step down one at a time", resnet, {}, async (page) => {
    await page.evaluate("document.querySelector('#step-detail button').click()");
    const levels = await page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((h) => " +
                                       "h.offsetParent !== null).map((h) => Number(h.tagName[1]))");
    assert.equal(levels[0], 1);
    levels.forEach((level, i) => assert.ok(i === 0 || (level > 1 && level <= levels[i - 1] + 1), levels.join(" ")));
    const silent = await page.evaluate("[...document.querySelectorAll('canvas, svg, input, button')].filter((e) => " +
        "e.closest('[aria-hidden=true]') === null && !(e.ariaLabel || e.innerText || e.labels?.length)).map((e) => e.outerHTML)");
    assert.deepEqual(silent, [], "pictures and controls have names");
  });

  await check("keys alone go along the steps, to the peak and into the treemap", resnet, {}, async (page) => {
    await page.evaluate("document.querySelector('#timeline-chart [role=slider]').focus()");
    const peak = await page.evaluate(valueNow);
    await page.key("Home");
    assert.equal(await page.evaluate(valueNow), 1);
    await page.key("ArrowRight");
    assert.equal(await page.evaluate(valueNow), 2);
    assert.match(await page.evaluate(valueText), /^step 2 of \d+, forward, \w+/);
    await page.key("p");
    assert.equal(await page.evaluate(valueNow), peak);
    assert.match(await page.evaluate(text("#step-detail h3")), /the peak/);
    await page.evaluate("document.querySelector('#treemap button.box').focus()");
    await page.evaluate("document.activeElement.click()");
    assert.match(await page.evaluate(text(".trail")), /model ›/);
  });

  await check("the run switch shows the inference", resnet, {}, async (page) => {
    await page.evaluate("document.querySelectorAll('#run-switch input')[1].click()");
    await page.settle();
    assert.doesNotMatch(await page.evaluate(text("#legend")), /gradients/);
  });

  const pipeline = made("pipeline.html", join(models, "gpt2_sdpa.train.ts.op17.onnx"), "-b", "4", "-d", "seq=32",
                        "--pipeline", "2");
  await check("the run switch shows each rank of a pipeline", pipeline, {}, async (page) => {
    assert.match(await page.evaluate(text("#run-switch")), /rank 0: stage 0 of 2, which needs most[^]*rank 1: stage 1 of 2/);
    const before = await page.evaluate(text("#step-detail h3"));
    await page.evaluate("document.querySelectorAll('#run-switch input')[1].click()");
    await page.settle();
    assert.notEqual(await page.evaluate(text("#step-detail h3")), before);
  });

  await check("tables sort and filter", resnet, {}, async (page) => {
    const column = "[...document.querySelectorAll('#table-layers tbody tr:not([hidden])')].map((r) => Number(r.cells[2].dataset.v))";
    await page.evaluate("document.querySelectorAll('#table-layers th button')[2].click()");
    const sorted = await page.evaluate(column);
    assert.ok(sorted.length > 10);
    assert.deepEqual(sorted, [...sorted].sort((a, b) => b - a));
    await page.evaluate("(() => { const f = document.querySelector('[aria-label=\"Filter Layers\"]'); f.value = 'layer1.0';" +
                        "f.dispatchEvent(new Event('input')); })()");
    assert.ok((await page.evaluate(column)).length < sorted.length / 4);
  });

  await check("parts add up to the figure above them", resnet, {}, async (page) => {
    const sums = await page.evaluate("[...document.querySelectorAll('.parts tbody tr')].map((r) => [r.className, Number(r.cells[1].dataset.v)])");
    const of = (kinds) => sums.filter(([kind]) => kinds.test(kind)).reduce((sum, [, bytes]) => sum + bytes, 0);
    const totals = sums.filter(([kind]) => kind === "sum").map(([, bytes]) => bytes);
    assert.equal(of(/^c\d/), totals[0]);
    assert.equal(of(/^c\d|extra/), totals[1]);
  });

  await check("dark mode is dark, and its text is legible", resnet, {dark: true}, async (page) => {
    const light = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
    const [ground, ink] = await page.evaluate(
        "['#answer', 'h1'].map((s, i) => getComputedStyle(document.querySelector(s))[i ? 'color' : 'backgroundColor'])");
    assert.ok(light(ground) < 150 && light(ink) > 600, ground + " " + ink);
  });

  await check("at the width of a telephone nothing is wider than the page and no column is lost", resnet, {width: 400}, async (page) => {
    assert.ok(await page.evaluate("document.documentElement.scrollWidth <= 400"));
    const lost = await page.evaluate("[...document.querySelectorAll('.panel:not(.away) td, .panel:not(.away) th, .parts td, .parts th, " +
        ".stacks td')].filter((c) => !c.closest('tr').hidden && getComputedStyle(c).display === 'none').length");
    assert.equal(lost, 0);
    assert.ok(await page.evaluate("[...document.querySelectorAll('.panel:not(.away) .scroll')].every((s) => " +
                                  "getComputedStyle(s).overflowX === 'auto')"));
  });

  await check("in print stands the picture made of lines, and every table", resnet, {}, async (page) => {
    await page.send("Emulation.setEmulatedMedia", {media: "print"});
    await page.settle();
    assert.equal(await page.evaluate("getComputedStyle(document.querySelector('svg.static')).display !== 'none'"), true);
    assert.equal(await page.evaluate("[...document.querySelectorAll('.panel')].every((p) => getComputedStyle(p).display !== 'none')"), true);
    const {data} = await page.send("Page.printToPDF", {printBackground: true});
    assert.ok(data.length > 20000);
  });

  await check("without scripts stand the answer, a picture and the tables", resnet, {script: false}, async (page) => {
    assert.match(await page.evaluate(text("#headline")), /Training needs/);
    assert.ok(await page.evaluate("document.querySelector('svg.static').getBoundingClientRect().height > 100"));
    assert.ok(await page.evaluate("document.querySelectorAll('#table-layers tbody tr').length > 10"));
    assert.ok(await page.evaluate("!document.querySelector('main').classList.contains('scripted')"));
  });

  await check("the page tells what would save most, and where the steps stand", resnet, {}, async (page) => {
    assert.match(await page.evaluate(text("#answer .less")), /How to need less[^]*expandable_segments[^]*bf16 autocast/);
    assert.match(await page.evaluate(text("#headline .card .hint:last-child")), /Peak at step [\d,]+ of [\d,]+/);
    const [, said] = (await page.evaluate(text("#headline .card .hint:last-child"))).match(/step ([\d,]+)/);
    assert.equal(await page.evaluate(valueNow), Number(said.replace(",", "")), "one number for one step");
  });

  const cards = made("cards.html", join(models, "vit_b_16.train.ts.op17.onnx"), "-b", "256", "-q", "--gpu",
                     "T4,RTX 4090,H100 PCIe");
  await check("flags are whole, with -q too, and a row tells of each card", cards, {}, async (page) => {
    const flags = await page.evaluate("[...document.querySelectorAll('#answer .less code')].map((c) => c.innerText).join(' ')");
    assert.match(flags, /--segment encoder\.layers\.encoder_layer_0 .*--segment encoder\.layers\.encoder_layer_9 /);
    assert.ok(!flags.includes("…") && !flags.includes("..."), flags);
    assert.match(await page.evaluate(text("#table-gpus")), /Tesla T4[^]*does not fit[^]*H100 PCIe[^]*fits/);
  });

  await check("at 400 columns what a change costs is on the page", cards, {width: 400}, async (page) => {
    const right = "Math.max(...[...document.querySelectorAll('#answer .stacks td')].map((c) => c.getBoundingClientRect().right))";
    assert.ok(await page.evaluate(right) <= 400);
    assert.match(await page.evaluate(text("#answer .less")), /check accuracy/);
  });

  const compared = made("compared.html", "compare", join(models, "resnet18.train.ts.op17.onnx"),
                        join(models, "resnet18.fp16.train.ts.op17.onnx"), "-b", "64");
  await check("two models compared: tables of what changed, and a treemap of it", compared, {}, async (page) => {
    assert.ok(await page.evaluate("document.querySelectorAll('#table-changed-layers tbody tr').length > 10"));
    const sums = await page.evaluate("[...document.querySelectorAll('#table-changed-figures tbody tr')].every(" +
        "(r) => Number(r.cells[3].dataset.v) - Number(r.cells[2].dataset.v) === Number(r.cells[4].dataset.v))");
    assert.ok(sums, "head less base is the change");
    await page.evaluate("document.querySelectorAll('#run-switch input')[1].click()");  // the head's training
    await page.settle();
    await page.evaluate("document.querySelector('#treemap-controls input[value=change]').click()");
    await page.settle();
    assert.ok(await page.evaluate("[...document.querySelectorAll('#treemap .box')].filter((b) => /shrank/.test(b.style.backgroundImage)).length > 3"));
    assert.doesNotMatch(await page.evaluate("document.querySelector('#treemap-marks').innerText"), /parameters/);
    assert.match(await page.evaluate("document.querySelector('#treemap .box').getAttribute('aria-label')"), /(more|less)/);
  });

  await check("two models compared: pictures on one scale, and changes that add up", compared, {height: 900}, async (page) => {
    assert.equal(await page.evaluate("document.querySelectorAll('#compare-sides canvas[role=img]').length"), 2);
    for (const part of ["#compare-sides", "#compare-changes"]) assert.ok(await page.evaluate(aboveFold(part)), part);
    const marks = await page.evaluate("[...document.querySelectorAll('#compare .sum td')].map((c) => c.innerText)");
    assert.match(marks[2], /^−\d+ MiB \(−\d+ %\)$/);
    const figures = await page.evaluate("[...document.querySelectorAll('#table-changed-figures tbody tr')].map((r) => [r.cells[0].innerText, r.cells[1].innerText, Number(r.cells[4].dataset.v)])");
    const change = figures.find(([part, figure]) => part === "training" && figure === "alive at the peak")[2];
    assert.ok(Math.abs(Number(marks[2].match(/\d+/)[0]) - Math.abs(change) / 2 ** 20) < 1, marks[2] + " and " + change);
    await page.evaluate("document.querySelectorAll('#compare .side .link')[1].click()");
    assert.equal(await page.evaluate("document.querySelectorAll('#run-switch input')[1].checked"), true);
    assert.match(await page.evaluate(text("#timeline-marks")), /peak of the base/);
  });

  const staged = made("staged_plan.html", "plan", join(models, "gpt2_sdpa.train.ts.op17.onnx"), "-b", "8", "-d", "seq=64",
                      "--pipeline", "2", "--no-return-outputs", "--budget", "80%", "--iterations", "40");
  await check("the ranks of a plan are switched between, each beside itself without the plan", staged, {}, async (page) => {
    const inputs = "[...document.querySelectorAll('#run-switch input')]";
    const peak = async () => {
      await page.settle();
      return page.evaluate(valueText);
    };
    assert.match(await page.evaluate(text("#run-switch")), /which needs most[^]*rank \d: stage \d of 2/);
    const most = await peak();
    await page.evaluate(inputs + "[1].click()");
    assert.notEqual(await peak(), most);
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.match(await page.evaluate("location.hash"), /^#run=1$/);
    await page.evaluate("document.querySelector('.point').dispatchEvent(new Event('click'))");  // no checkpoints
    assert.equal(await page.evaluate(inputs + ".length"), 2);
    assert.equal(await page.evaluate(inputs + "[0].checked"), true);
    await page.evaluate(inputs + "[1].click()");
    await page.evaluate("location.hash = '#run=1'");
    await page.settle();
    assert.match(await page.evaluate("document.getElementById('plan-detail').innerText"), /\(chosen\)/);
    assert.equal(await page.evaluate(inputs + "[1].checked"), true);
  });

  const fit = made("fit.html", "fit", join(models, "resnet18.train.ts.op17.onnx"), "--gpu", "T4");
  await check("a page without pictures is text alone: no empty section, no script", fit, {}, async (page) => {
    assert.match(await page.evaluate(text("#answer")), /Batch 1 of training needs/);
    assert.equal(await page.evaluate("document.querySelectorAll('section').length - [...document.querySelectorAll('section')]" +
                                     ".filter((s) => s.getBoundingClientRect().height === 0).length"), 2);
    assert.ok(statSync(fit).size < 40000);
  });

  const plan = made("plan.html", "plan", join(models, "resnet18.train.ts.op17.onnx"), "-b", "64", "--budget", "2.2GiB",
                    "--iterations", "40", "--time-limit", "0");
  await check("the curve of plans and the timeline stand above the fold", plan, {height: 900}, async (page) => {
    for (const part of ["#plan-curve", "#timeline-chart", "#timeline-overview"]) assert.ok(await page.evaluate(aboveFold(part)), part);
  });

  await check("a click on a plan changes timeline, segments and code", plan, {}, async (page) => {
    const shown = "[document.querySelector('#timeline-chart [role=slider]').getAttribute('aria-valuemax')," +
                  "document.getElementById('plan-detail').innerText]";
    const [steps, words] = await page.evaluate(shown);
    assert.match(words, /Checkpoint these/);
    assert.match(words, /PyTorch code/);
    assert.match(words, /on the GPU, \+[\d.]+ % time \(chosen\)/);
    assert.match(await page.evaluate("document.querySelector('#plans').innerText"), /extra time of a training step/);
    assert.match(await page.evaluate("document.querySelector('#plan-detail pre').textContent"), /checkpoint/);
    const [x, y] = await middleOf(page, ".point");  // the first: no checkpoints
    await page.mouse("mousePressed", x, y, 1);
    await page.mouse("mouseReleased", x, y, 1);
    await page.settle();
    const [fewer, none] = await page.evaluate(shown);
    assert.ok(Number(fewer) < Number(steps), fewer + " of " + steps);
    assert.match(none, /No checkpoints/);
  });
  // A page of another kind: the scripts without main.mjs's start, and a report as text.
  const report = readFileSync(resnet, "utf8");
  const script = report.match(/<script>([^]*)<\/script>/)[1].replace(/if \(typeof document[^\n]*start\(\);/, "window.renderPage = renderPage;");
  const host = join(folder, "host.html");
  writeFileSync(host, "<!doctype html><title>host</title><style>" + report.match(/<style>([^]*?)<\/style>/)[1] + "</style><h1 id=answer>Mine</h1><div id=here></div><script>" + script + "</script>" +
      "<template id=report>" + report.replace(/&/g, "&amp;").replace(/</g, "&lt;") + "</template>");
  await check("another document shows a report in an element of its own, and is rid of it again", host, {}, async (page) => {
    const draw = "(() => { const text = (window.text ??= document.getElementById('report').content.textContent);" +
                 "window.shown = renderPage(document.getElementById('here'), new DOMParser().parseFromString(text, 'text/html'), {fragment: '#step=4'}); })()";
    for (let i = 0; i < 2; ++i) {
      await page.evaluate(draw);
      await page.settle();
      assert.equal(await page.evaluate(valueNow), 4);
      assert.ok(await page.evaluate("document.querySelectorAll('#treemap .box').length > 3"));
      assert.equal(await page.evaluate("location.hash"), "");
      await page.evaluate("shown.close()");
      assert.deepEqual(await page.evaluate("[document.getElementById('here').childNodes.length, document.getElementById('here').className]"), [0, ""]);
    }
    assert.equal(await page.evaluate(text("#answer")), "Mine", "what else the document holds is left alone");
  });
  await check("a report works in a frame that was made from its text", host, {height: 1000}, async (page) => {
    const framed = (source) => page.evaluate("new Promise((loaded) => { const text = (window.text ??= document.getElementById('report').content.textContent);" +
        "const frame = document.createElement('iframe'); frame.width = frame.height = 900; frame.onload = loaded; " + source +
        "; document.body.replaceChildren(frame); })");
    await framed("frame.srcdoc = text");
    await page.settle();
    const inside = "document.querySelector('iframe').contentDocument";
    const press = (key) => page.evaluate(inside + ".querySelector('#timeline-chart [role=slider]').dispatchEvent(new KeyboardEvent('keydown', {key: '" + key + "'}))");
    const hash = () => new Promise((r) => setTimeout(r, 400)).then(() => page.evaluate(inside + ".location.hash"));
    await press("Home");
    assert.equal(await hash(), "#step=1");
    await press("p");
    assert.equal(await hash(), "");
    await framed("frame.src = URL.createObjectURL(new Blob([text], {type: 'text/html'}))");  // of an origin of its own: click
    await page.settle();
    await page.mouse("mousePressed", 400, 400, 1);
    await page.mouse("mouseReleased", 400, 400, 1);
    await new Promise((r) => setTimeout(r, 400));
  });
  // Limits that only another order of growth breaks: tests/web/speed.mjs measures 10 ms a key.
  const large = join(folder, "large.html");
  writeFileSync(large, report.replace(/(id="page-data">)[^]*?(<\/script>)/, (_, before, after) => before + JSON.stringify(largeRun(3000)) + after));
  await check("12,000 steps and 12,000 tensors stay smooth", large, {}, async (page) => {
    assert.match(await page.evaluate(valueText), /^step 6,000 of 12,000, forward/);
    const slowest = await page.evaluate("(async () => { const chart = document.querySelector('#timeline-chart [role=slider]'); let most = 0;" +
        "for (const key of '++-p0') { const start = performance.now(); chart.dispatchEvent(new KeyboardEvent('keydown', {key}));" +
        "await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0))); most = Math.max(most, performance.now() - start); } return most; })()");
    assert.ok(slowest < 500, slowest + " ms");
  });
  assert.ok(statSync(resnet).size < 5e6 && statSync(plan).size < 5e6);
} finally {
  await browser.close();
  rmSync(folder, {recursive: true, force: true});
}
process.exit(failed === 0 ? 0 : 1);
