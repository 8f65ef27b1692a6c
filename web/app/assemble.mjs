// node assemble.mjs FOLDER MODEL OUTPUT: the app as one file, from FOLDER/onnx-mem.{js,wasm} and this folder's sources.
// A page that was opened from disk may fetch nothing and start no module, so that all of it stands in the file: the
// program and MODEL, an example, packed and as base64, the scripts as one each. What the form offers, the program lists.
import {createHash} from "node:crypto";
import {mkdirSync, readFileSync, writeFileSync} from "node:fs";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";
import {gzipSync} from "node:zlib";
import {loadProgram, runHere} from "./in_node.mjs";

const [folder, model, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const packed = (file) => gzipSync(readFileSync(file), {level: 9}).toString("base64");
const source = (name) => readFileSync(join(here, name), "utf8");

// Modules as one script: what they import stands before them, what they export is a name among the others.
function joined(...names) {
  const texts = names.map((name) => source(name).replace(/^import [^\n]*\n/gm, "").replace(/^export /gm, ""));
  return "\"use strict\";\n" + texts.join("");
}
const hash = (text) => "'sha256-" + createHash("sha256").update(text).digest("base64") + "'";
const inScript = (text) => text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");

const program = await loadProgram(folder);
const answered = async (words, options) => {
  const answer = await runHere(program, words, options);
  if (answer.code !== 0) throw new Error(words.join(" ") + ": " + answer.stderr);
  return answer;
};
const help = JSON.parse((await answered(["--help", "--format", "json"])).stdout);
const cards = JSON.parse((await answered(["gpus", "--format", "json"])).stdout);
const completed = (await answered(["completion", "bash"])).stdout;
const known = {"--gpu": cards.gpus.map(({name}) => name),
               "--optimizer": completed.match(/--optimizer\) COMPREPLY=\(\$\(compgen -W '([^']*)'/)[1].split(" ")};
const report = "/report.html";
const page = new TextDecoder().decode(
    (await answered([resolve(model), "-q", "-o", report], {files: [report]})).files[report]);
// A report is shown in a frame, to which the policy of this page applies as well as its own.
const allowed = (kind) => page.match(new RegExp(kind + "-src ('sha256-[^']*')"))[1];

const style = readFileSync(join(here, "../page.css"), "utf8") + source("app.css");
const script = joined("packed.mjs", "question.mjs", "app.mjs");
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; worker-src blob:; frame-src blob:; " +
    "style-src " + hash(style) + " " + allowed("style") + "; " +
    "script-src 'wasm-unsafe-eval' blob: " + hash(script) + " " + allowed("script");
const parts = {
  policy, style, script, version: help.version,
  wasm: packed(join(folder, "onnx-mem.wasm")), example: packed(model),
  worker: inScript(readFileSync(join(folder, "onnx-mem.js"), "utf8") + joined("packed.mjs", "program.mjs", "worker.mjs")),
  tables: inScript(JSON.stringify(help.options.map((row) => ({
    name: row.name, choices: row.choices, help: row.help, known: known[row.name] ?? [],
    initial: (row.library?.default ?? "").replace(/^"|"$|^{}$/g, "")})))),
};
const html = source("index.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
mkdirSync(dirname(output), {recursive: true});
writeFileSync(output, html);
