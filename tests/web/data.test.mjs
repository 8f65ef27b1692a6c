import assert from "node:assert/strict";
import test from "node:test";
import {aliveAt, readData, unpack, unpackStrings, whyAlive} from "../../web/data.mjs";
import {pack, smallRun} from "./small_run.mjs";

test("columns hold what was packed, sizes beyond 32 bits too", () => {
  const numbers = [0, 1, -1, 63, 64, -64, -65, 8191, 2 ** 31, 2 ** 40 + 3, -(2 ** 44)];
  assert.deepEqual(unpack(pack(numbers)), numbers);
  assert.deepEqual(unpack(""), []);
});

test("strings share their beginnings", () => {
  assert.deepEqual(unpackStrings([0, "", 0, "layer1.conv", 7, "relu", 7, "x"]),
                   ["", "layer1.conv", "layer1.relu", "layer1.x"]);
});

test("a run is read whole", () => {
  const [run] = readData(smallRun()).runs;
  assert.deepEqual(run.buffers.begin, [0, 0]);
  assert.deepEqual(run.buffers.end, [3, 2]);
  assert.deepEqual(run.buffers.bytes, [16, 16]);
  assert.deepEqual(run.buffers.category, [2, 5]);
  assert.deepEqual(run.buffers.made, [false, true]);
  assert.deepEqual(run.buffers.address, [0, 512]);
  assert.deepEqual(run.steps.phase, [0, 2, 2]);
  assert.deepEqual(run.steps.recompute, [false, false, true]);
  assert.deepEqual(run.others.bytes[5], [8, 8, 0]);
  assert.equal(readData({}), null);
});

test("a tensor tells why it is alive", () => {
  const data = readData(smallRun());
  assert.deepEqual(aliveAt(data.runs[0], 2), [0]);
  assert.deepEqual(whyAlive(data.runs[0], 1, data.categories), [
    "Made in step 1 (forward) by relu in act.", "Saved by relu.",
    "Last needed in step 2 (backward) by relu in act; freed behind it."]);
  assert.deepEqual(whyAlive(data.runs[0], 0, data.categories), [
    "There before the first step: it is one of the inputs.", "Alive to the end of the run."]);
});
