// node same_answers.mjs BUILD PROGRAM MODELS [FOLDER...]: the program as WebAssembly says what the program says, byte for byte
// and with the same exit code, of every model; of each model and record below the other folders its JSON alone.
import {spawnSync} from "node:child_process";
import {existsSync, readdirSync} from "node:fs";
import {join, resolve} from "node:path";
import {loadProgram, runHere} from "../../web/app/in_node.mjs";

const [build, native, models, ...folders] = process.argv.slice(2);
const folder = join(build, "cli");
if (!existsSync(join(folder, "onnx-mem.wasm"))) {
  console.log("skipped: no " + folder + "/onnx-mem.wasm (scripts/app builds it; wants emscripten)");
  process.exit(77);
}
const program = await loadProgram(folder);
let failed = 0;

function firstDifference(a, b) {
  const [as, bs] = [a.split("\n"), b.split("\n")];
  const line = as.findIndex((text, i) => text !== bs[i]);
  return line < 0 ? "more lines" : "line " + (line + 1) + ":\n  " + as[line] + "\n  " + bs[line];
}

async function compare(words) {
  const there = spawnSync(native, words, {encoding: "utf8", maxBuffer: 1 << 30});
  const here = await runHere(program, words);
  for (const [what, a, b] of [["exit code", String(there.status), String(here.code)], ["output", there.stdout, here.stdout],
                              ["messages", there.stderr, here.stderr]]) {
    if (a === b) continue;
    ++failed;
    console.log("FAILED onnx-mem " + words.join(" ") + ": another " + what + ", " + firstDifference(a, b));
  }
}

const modelsBelow = (folder) => readdirSync(folder, {recursive: true}).filter((name) => /\.(onnx|eager)$/.test(name))
    .map((name) => resolve(folder, name)).sort();
const files = modelsBelow(models);
const more = folders.flatMap(modelsBelow).filter((file) => !files.includes(file));
const begin = performance.now();
for (const file of files.concat(more)) await compare([file, "-f", "json"]);
for (const file of files) await compare([file, "-f", "json", "--gpu", "RTX 4090", "--optimizer", "sgd", "--amp", "bf16"]);
const resnet = files.find((file) => file.includes("resnet18.train"));
await compare([resnet, "-b", "8,64"]);
await compare(["fit", resnet, "--gpu", "T4", "-f", "json"]);
await compare(["plan", resnet, "-b", "64", "--budget", "2GiB", "--iterations", "40", "--time-limit", "0", "-f", "json"]);
await compare([resnet, "-b", "64", "-f", "html"]);
await compare([resnet, "--optimizer", "nothing"]);
await compare([join(models, "no-such-file.onnx"), "-f", "json"]);
await compare([resolve("package-that-is-not.txt"), "-f", "json"]);
console.log(files.length + " models, " + more.length + " others, " + failed + " differences, " + ((performance.now() - begin) / 1000).toFixed(0) + " s");
process.exit(failed === 0 ? 0 : 1);
