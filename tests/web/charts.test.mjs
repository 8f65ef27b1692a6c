import assert from "node:assert/strict";
import test from "node:test";
import {readData} from "../../web/data.mjs";
import {changesByCategory, groupOf} from "../../web/compare.mjs";
import {bufferAt, placeBuffers, stackExactly} from "../../web/lifetimes_layout.mjs";
import {dragged, gripAt} from "../../web/overview.mjs";
import {labelPlace, percentText, priceName, ratioTicks} from "../../web/plans.mjs";
import {fillRectangle, pixelOf} from "../../web/raster.mjs";
import {bottomToTop, bytesPerStep, columnSteps, levelsOf, phaseSpans, zoomed} from "../../web/series.mjs";
import {kindsOf, moduleTree, squarify} from "../../web/squarify.mjs";
import {compareKeys, sortKey} from "../../web/tables.mjs";
import {bandsOf, changeTree, GREW, SHRANK} from "../../web/treemap.mjs";
import {smallRun} from "./small_run.mjs";

const [run] = readData(smallRun()).runs;

test("categories add up to the total at every step", () => {
  const series = bytesPerStep(run, 6);
  assert.deepEqual([...series.total], [40, 40, 16]);
  for (let step = 0; step < 3; ++step) {
    assert.equal(series.byCategory.reduce((sum, bytes) => sum + bytes[step], 0), series.total[step]);
  }
  assert.equal(series.most, 40);
  assert.deepEqual([...bytesPerStep(run, 6, new Set([5])).total], [16, 16, 16]);
  assert.deepEqual([...bytesPerStep(run, 6, new Set(), [1]).total], [16, 16, 0], "one buffer, and no sums of others");
});

test("every category stands in the stack once, what stays is at the bottom", () => {
  for (const count of [1, 6, 10, 12]) assert.deepEqual([...bottomToTop(count)].sort((a, b) => a - b), [...Array(count).keys()]);
  assert.deepEqual(bottomToTop(12).slice(0, 6), [0, 1, 4, 2, 3, 5]);
});

test("no peak is lost where many steps share a pixel", () => {
  const total = Float64Array.from({length: 1000}, (_, i) => (i === 777 ? 9 : 1));
  assert.ok([...columnSteps(total, 0, 1000, 10)].includes(777));
  assert.deepEqual([...columnSteps(total, 5, 8, 6)], [5, 5, 6, 6, 7, 7]);
});

test("what plans cost is called what it was counted in", () => {
  assert.equal(priceName("time"), "time");
  assert.equal(priceName("flops"), "compute");
});

test("phases and zoom", () => {
  assert.deepEqual(phaseSpans(run), [{phase: 0, from: 0, to: 1}, {phase: 2, from: 1, to: 3}]);
  assert.deepEqual(zoomed(0, 100, 50, 0.5, 100), [25, 75]);
  assert.deepEqual(zoomed(25, 75, 50, 4, 100), [0, 100]);
  assert.deepEqual(zoomed(0, 8, 0, 0.01, 100), [0, 4]);
});

test("buffers that are alive together never overlap", () => {
  let seed = 1;
  const random = (most) => (seed = seed * 48271 % 2147483647) % most;
  const b = {begin: [], end: [], bytes: [], count: 200};
  for (let i = 0; i < b.count; ++i) {
    b.begin.push(Math.floor(i / 3));
    b.end.push(b.begin[i] + 1 + random(20));
    b.bytes.push(1 + random(50));
  }
  const address = stackExactly(b, [...Array(b.count).keys()]);
  for (let i = 0; i < b.count; ++i) {
    for (let j = 0; j < i; ++j) {
      if (b.begin[i] >= b.end[j] || b.begin[j] >= b.end[i]) continue;
      const apart = address.get(i) + b.bytes[i] <= address.get(j) || address.get(j) + b.bytes[j] <= address.get(i);
      assert.ok(apart, i + " and " + j);
    }
  }
});

test("what is under the pointer", () => {
  const placed = placeBuffers(run);
  assert.equal(placed.height, 528);
  assert.equal(bufferAt(run, placed, 1, 515), 1);
  assert.equal(bufferAt(run, placed, 2, 515), -1);
  assert.equal(bufferAt(run, placed, 2, 3), 0);
});

test("a treemap's areas are its values", () => {
  const values = [6, 6, 4, 3, 2, 2, 1];
  const rectangles = squarify(values, 0, 0, 600, 400);
  values.forEach((value, i) => {
    assert.ok(Math.abs(rectangles[i].w * rectangles[i].h - value * 10000) < 1e-6);
    assert.ok(rectangles[i].x >= 0 && rectangles[i].x + rectangles[i].w <= 600 + 1e-9);
    assert.ok(rectangles[i].y >= 0 && rectangles[i].y + rectangles[i].h <= 400 + 1e-9);
  });
  assert.deepEqual(squarify([1], 0, 0, 0, 10), [{x: 0, y: 0, w: 0, h: 0}]);
});

test("modules make a tree that adds up", () => {
  const tree = moduleTree(["a.b.c", "a.b.d", "e", "a", "", "/n/Conv"], [1, 2, 4, 8, 16, 32]);
  assert.equal(tree.value, 63);
  assert.equal(kindsOf(moduleTree(["a.b", "a.b", "c"], [1, 5, 2], [0, 5, 3]).children[0])[0][0], 5);
  assert.deepEqual(tree.children.map((child) => [child.name, child.value]),
                   [["n.Conv", 32], ["(no module)", 16], ["a", 11], ["e", 4]]);
  assert.deepEqual(tree.children[2].children.map((child) => [child.name, child.value]), [["(itself)", 8], ["b", 3]]);
});

test("tables sort numbers by size and text by letters", () => {
  const keys = [sortKey("10", "10 B"), sortKey("9", "9 B"), sortKey(undefined, "-"), sortKey(null, "B"), sortKey(null, "a")];
  assert.deepEqual(keys.sort(compareKeys), [9, 10, "-", "a", "b"]);
});

test("slowdowns have marks that people count in", () => {
  assert.deepEqual(ratioTicks(0.33).map(percentText), ["+0.0 %", "+10.0 %", "+20.0 %", "+30.0 %"]);
  for (const most of [0.004, 0.011, 0.07, 1.3]) assert.ok(ratioTicks(most).length <= 7, most + ": " + ratioTicks(most));
});

test("a treemap of changes tells what grew and what shrank", () => {
  const made = (...buffers) => ({
    peakStep: 0, strings: ["a", "b", "c"],
    buffers: {count: buffers.length, begin: buffers.map(() => 0), end: buffers.map(() => 1),
              module: buffers.map(([module]) => module), bytes: buffers.map(([, bytes]) => bytes)},
  });
  const tree = changeTree(made([0, 100], [1, 50]), made([0, 40], [1, 50], [2, 30]));
  assert.equal(tree.value, 90);
  assert.deepEqual(tree.children.map((child) => [child.name, child.value, kindsOf(child)]),
                   [["a", 60, [[SHRANK, 60]]], ["c", 30, [[GREW, 30]]]]);
});

test("bands of a box are as wide as its categories are large", () => {
  const tint = (kind) => "color-mix(in srgb, var(--c" + kind + ") var(--tint), var(--surface))";
  assert.equal(bandsOf([[5, 60], [0, 20]]), tint(5) + " 0.0% 75.0%, " + tint(0) + " 75.0% 100.0%");
});

test("the window of the overview is held by its edges, moved from within, chosen anew from outside", () => {
  assert.deepEqual([90, 100, 150, 203, 260].map((x) => gripAt(x, [100, 200], false)), ["new", "left", "move", "right", "new"]);
  assert.equal(gripAt(150, [100, 200], true), "new", "all is shown: there is nowhere to move it");
  assert.deepEqual([0, 2, 4].map((x) => gripAt(x, [0, 4], false)), ["left", "move", "right"], "a narrow one can be moved too");
  assert.deepEqual(dragged("move", [10, 30], 20, 95, 100), [80, 100]);
  assert.deepEqual(dragged("left", [10, 30], 10, 90, 100), [10 + 16, 30], "four steps are left");
  assert.deepEqual(dragged("right", [10, 30], 30, 2000, 100), [10, 100]);
  assert.deepEqual(dragged("new", [0, 100], 70.2, 40.4, 100), [40, 70]);
  assert.deepEqual(dragged("new", [0, 100], 99.9, 99.9, 100), [96, 100]);
});

test("rectangles side by side share no pixel and leave none out", () => {
  const pixels = new Uint32Array(10 * 4);
  for (let i = 0; i < 7; ++i) fillRectangle(pixels, 10, 4, i * 10 / 7, 0, (i + 1) * 10 / 7, 4, i + 1);
  assert.ok(pixels.every((pixel) => pixel > 0));
  fillRectangle(pixels, 10, 4, 9.99, 1, 9.999, 2, 99);
  assert.equal(pixels[19], 99, "a short life is a pixel wide");
  fillRectangle(pixels, 10, 4, 3, 1.1, 9, 1.3, 77);
  assert.ok(!pixels.includes(77), "what is lower than half a pixel hides no neighbour");
  fillRectangle(pixels, 10, 4, -5, -5, 50, 50, 8);
  assert.ok(pixels.every((pixel) => pixel === 8));
  assert.equal(pixelOf("#0072b2"), 0xffb27200);
  assert.equal(pixelOf("#ffffff", "#000000", 0.5), 0xff808080);
  assert.equal(pixelOf("#fa0"), pixelOf("#ffaa00"));
});

test("a limit far above the curve is not drawn, the peak without a plan is", () => {
  const view = (limitBytes, basePeak) => ({run: {limitBytes, peakBytes: 100}, basePeak, baseWords: "peak without a plan"});
  assert.deepEqual(levelsOf(view(150, 0)).map((level) => level.bytes), [150]);
  assert.deepEqual(levelsOf(view(400, 120)).map((level) => level.words), ["peak without a plan 120 B"]);
  assert.deepEqual(levelsOf(view(0, 100)), []);
});

test("words along a line hide no point", () => {
  assert.deepEqual(labelPlace([], 50, 0, 300), [300, 45, "end"]);
  assert.deepEqual(labelPlace([[280, 40]], 50, 0, 300), [300, 65, "end"]);
  assert.deepEqual(labelPlace([[280, 50]], 50, 0, 300), [0, 45, "start"]);
});

test("a comparison's changes add up to the change of the peaks", () => {
  const runs = [{base: null, peakStep: 1}, {base: null, peakStep: 0}, {base: 0, peakStep: 0}, {base: 0, peakStep: 1}];
  assert.deepEqual(groupOf(runs, runs[3]), [runs[0], runs[2], runs[3]]);
  assert.deepEqual(groupOf(runs, runs[1]), [runs[1]]);
  const series = [{byCategory: [[1, 10], [0, 5]]}, {byCategory: [[4, 1], [0, 1]]}];
  assert.deepEqual(changesByCategory([runs[0], runs[2]], series),
                   [{category: 0, bytes: [10, 4], changes: [-6]}, {category: 1, bytes: [5, 0], changes: [-5]}]);
});
