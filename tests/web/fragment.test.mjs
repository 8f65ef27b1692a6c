import assert from "node:assert/strict";
import test from "node:test";
import {fragmentOf, viewOfFragment} from "../../web/fragment.mjs";

test("a view comes back from its fragment", () => {
  const view = {run: 1, plan: 3, from: 9, to: 50, step: 0, tensor: 17, find: "layer1.0 conv & more", hide: [3, 4],
                area: "saved", module: "layer1.0"};
  assert.deepEqual(viewOfFragment(fragmentOf(view)), view);
  assert.match(fragmentOf(view), /^#run=1&plan=3&steps=10-50&step=1&/, "steps count from 1");
});

test("an untouched page has no fragment", () => {
  assert.equal(fragmentOf({run: null, plan: null, from: null, to: 10, step: null, tensor: null, find: "", hide: []}), "");
  assert.deepEqual(viewOfFragment(""), {});
});

test("an address that nobody's page wrote changes nothing", () => {
  assert.deepEqual(viewOfFragment("#steps=50-9&step=0&tensor=-1&run=x&hide=a.1e9&nonsense&%E0%A4%A"), {});
  assert.deepEqual(viewOfFragment("#steps=0-9"), {});
});
