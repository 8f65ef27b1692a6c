// The thread that answers: {wasm} once, then {id, words, files, wanted} -> {id, code, stdout, stderr, written, ms} each.
// Files are read by ranges as the program asks for them (WORKERFS), so that weights stay where they are.
import {unpacked} from "./packed.mjs";
import {runProgram} from "./program.mjs";

let module = null;  // a promise

async function answer({id, words, files, wanted}) {
  const prepare = ({FS, WORKERFS}) => {
    FS.mkdir("/model");
    FS.mount(WORKERFS, {files}, "/model");
    FS.mkdir("/answer");
    FS.chdir("/model");
  };
  const begin = performance.now();
  try {
    const {code, stdout, stderr, files: written} = await runProgram(onnxMem, await module, words, {prepare, files: wanted});
    postMessage({id, code, stdout, stderr, written, ms: performance.now() - begin});
  } catch (error) {
    const memory = error instanceof RangeError || String(error).includes("OOM");
    postMessage({id, code: 70, stdout: "", written: {}, ms: performance.now() - begin,
                 stderr: memory ? "onnx-mem: error: not enough memory in this browser for this model [too-large]"
                                : "onnx-mem: internal error: " + error + " [internal]"});
  }
}

onmessage = ({data}) => {
  if (data.wasm === undefined) return answer(data);
  module = unpacked(data.wasm).then((bytes) => WebAssembly.compile(bytes));
  module.then(() => postMessage({ready: true}), (error) => postMessage({ready: false, why: String(error)}));
};
