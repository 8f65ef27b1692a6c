import assert from "node:assert/strict";
import test from "node:test";
import {readData} from "../../web/data.mjs";
import {bufferAt, findBuffers, placeBuffers, stackExactly} from "../../web/lifetimes_layout.mjs";
import {percentText, priceName, ratioTicks} from "../../web/plans.mjs";
import {bytesPerStep, columnSteps, phaseSpans, zoomed} from "../../web/series.mjs";
import {moduleTree, squarify} from "../../web/squarify.mjs";
import {compareKeys, sortKey} from "../../web/tables.mjs";
import {changeTree, GREW, SHRANK} from "../../web/treemap.mjs";
import {smallRun} from "./small_run.mjs";

const [run] = readData(smallRun()).runs;

test("categories add up to the total at every step", () => {
  const series = bytesPerStep(run, 6);
  assert.deepEqual([...series.total], [40, 40, 16]);
  for (let step = 0; step < 3; ++step) {
    assert.equal(series.byCategory.reduce((sum, bytes) => sum + bytes[step], 0), series.total[step]);
  }
  assert.deepEqual([...bytesPerStep(run, 6, new Set([5])).total], [16, 16, 16]);
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

test("what is under the pointer, and what the find box finds", () => {
  const placed = placeBuffers(run);
  assert.equal(placed.height, 528);
  assert.equal(bufferAt(run, placed, 1, 515), 1);
  assert.equal(bufferAt(run, placed, 2, 515), -1);
  assert.equal(bufferAt(run, placed, 2, 3), 0);
  assert.deepEqual(findBuffers(run, "RELU act"), [1]);
  assert.deepEqual(findBuffers(run, "float32"), [0, 1]);
  assert.deepEqual(findBuffers(run, " "), []);
  assert.deepEqual(findBuffers(run, "nothing"), []);
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
  assert.equal(moduleTree(["a.b", "a.b", "c"], [1, 5, 2], [0, 5, 3]).children[0].kind, 5);
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
  assert.deepEqual(tree.children.map((child) => [child.name, child.value, child.kind]),
                   [["a", 60, SHRANK], ["c", 30, GREW]]);
});
