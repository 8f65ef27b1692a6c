// The program as WebAssembly under node, with the files of this machine: for tests, and to assemble the page.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {dirname, join, resolve} from "node:path";
import {runProgram} from "./program.mjs";

export async function loadProgram(folder) {
  const factory = createRequire(import.meta.url)(resolve(folder, "onnx-mem.js"));
  return {factory, module: await WebAssembly.compile(readFileSync(join(folder, "onnx-mem.wasm")))};
}

// Each folder that a word names a file of stands where it stands here.
export function runHere(program, words, {files = [], folders = []} = {}) {
  const prepare = ({FS, NODEFS}) => {
    for (const folder of new Set([...folders, ...words.filter((word) => word.startsWith("/")).map((word) => dirname(word))])) {
      if (folder === "/") continue;
      FS.mkdirTree(folder);
      FS.mount(NODEFS, {root: folder}, folder);
    }
  };
  return runProgram(program.factory, program.module, words, {prepare, files});
}
