import assert from "node:assert/strict";
import test from "node:test";
import {readData} from "../../web/data.mjs";
import {foundInWords} from "../../web/find.mjs";
import {nextOf, searchRun, stepsFound} from "../../web/search.mjs";
import {smallRun} from "./small_run.mjs";

const [run] = readData(smallRun()).runs;

test("tensors are found by name, module, shape and reason, the largest first", () => {
  assert.deepEqual(searchRun(run, "saved ACT").tensors, [1]);
  assert.deepEqual(searchRun(run, "float32").tensors, [0, 1]);
  assert.deepEqual(searchRun(run, "nothing"), {tensors: [], modules: [], operators: []});
  assert.equal(searchRun(run, " "), null);
});

test("modules and operators are found with their steps", () => {
  const found = searchRun(run, "relu");
  assert.deepEqual(found.operators, [{name: "relu", steps: [0, 1, 2]}]);
  assert.deepEqual(searchRun(run, "act").modules, [{name: "act", steps: [0, 1, 2]}]);
  assert.deepEqual(stepsFound(found), [0, 1, 2]);
  assert.equal(foundInWords(run, found), "1 tensor, 16 B; 1 operator");
  assert.equal(foundInWords(run, searchRun(run, "nothing")), "Nothing is called so.");
});

test("each choice is the next step, and behind the last the first", () => {
  assert.deepEqual([0, 4, 9].map((step) => nextOf([2, 5, 9], step)), [2, 5, 2]);
});
