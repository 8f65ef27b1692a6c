import assert from "node:assert/strict";
import test from "node:test";
import {byteTicks, formatBytes, formatCount, formatShare, formatTick, shorten} from "../../web/format.mjs";

test("sizes have three digits, as the program writes them", () => {
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1024), "1.00 KiB");
  assert.equal(formatBytes(102228128), "97.5 MiB");
  assert.equal(formatBytes(6420221133), "5.98 GiB");
  assert.equal(formatBytes(-2048), "-2.00 KiB");
});

test("an axis has few marks and ends within", () => {
  for (const most of [1, 7, 1000, 5.4e9, 3e11]) {
    const ticks = byteTicks(most);
    assert.ok(ticks.length >= 2 && ticks.length <= 6, most + ": " + ticks);
    assert.ok(ticks.at(-1) <= most);
  }
  assert.equal(formatTick(2 ** 30), "1 GiB");
  assert.equal(formatTick(1.5 * 2 ** 30), "1.5 GiB");
  assert.equal(formatTick(0), "0");
});

test("counts, shares and names", () => {
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(formatShare(1, 1000), "<1 %");
  assert.equal(formatShare(1, 4), "25 %");
  assert.equal(shorten("layer4.0.conv3.weight", 12), "layer4…eight");
  assert.equal(shorten("short", 12), "short");
});
