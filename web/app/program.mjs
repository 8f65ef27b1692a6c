// One run of the program in a WebAssembly instance of its own: nothing is left of a question when it is answered, and a
// question that runs out of memory takes nothing with it.

// `factory`: what emscripten made (onnx-mem.js); `module`: the compiled WebAssembly.Module. `prepare` mounts what the
// program reads; `files` are those that it writes and that are wanted, as bytes.
export async function runProgram(factory, module, words, {prepare = () => {}, files = []} = {}) {
  const printed = {stdout: [], stderr: []};
  let failed;
  const broken = new Promise((_, reject) => (failed = reject));
  const started = factory({
    instantiateWasm: (imports, receive) => {
      WebAssembly.instantiate(module, imports).then((instance) => receive(instance, module)).catch(failed);
      return {};
    },
    stdin: () => null,
    stdout: (byte) => byte !== null && printed.stdout.push(byte & 255),
    stderr: (byte) => byte !== null && printed.stderr.push(byte & 255),
  });
  const program = await Promise.race([started, broken]);
  prepare(program);
  const code = program.callMain(words);
  const text = (bytes) => new TextDecoder().decode(Uint8Array.from(bytes));
  const written = {};
  for (const file of files) {
    if (program.FS.analyzePath(file).exists) written[file] = program.FS.readFile(file);
  }
  return {code, stdout: text(printed.stdout), stderr: text(printed.stderr), files: written};
}
