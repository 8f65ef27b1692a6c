// node sizes.mjs BUILD MODEL: how large the app is, and how long it takes to start and to answer about MODEL (under node,
// whose engine is Chromium's).
import {readFileSync} from "node:fs";
import {join, resolve} from "node:path";
import {gzipSync} from "node:zlib";
import {loadProgram, runHere} from "./in_node.mjs";

const [build, model] = process.argv.slice(2);
const size = (bytes) => (bytes.length / 2 ** 20).toFixed(2) + " MiB";
const packed = (bytes) => gzipSync(bytes, {level: 9});
const timed = async (work) => {
  const begin = performance.now();
  const result = await work();
  return [result, Math.round(performance.now() - begin) + " ms"];
};

const wasm = readFileSync(join(build, "cli/onnx-mem.wasm"));
const page = readFileSync(join(build, "app/index.html"));
console.log("app/index.html  " + size(page) + ", as a host sends it (gzip) " + size(packed(page)));
console.log("the program     " + size(wasm) + ", packed " + size(packed(wasm)));
const [program, starts] = await timed(() => loadProgram(join(build, "cli")));
const times = [];
for (let i = 0; i < 5; ++i) {
  const words = [resolve(model), "-b", "64", "-o", "/report.html"];
  times.push((await timed(() => runHere(program, words)))[1]);
}
console.log("compiled in     " + starts);
console.log("ResNet-50       " + times.join(", ") + " (report with pictures, batch 64; the first run is the slowest)");
