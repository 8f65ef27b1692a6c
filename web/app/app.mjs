// The page that answers questions about a file: form -> words of the command line -> worker -> report.
import {unpacked} from "./packed.mjs";
import {COMMANDS, commandLine, fragmentOf, questionOf, wordsOf} from "./question.mjs";

const REPORT = "/answer/report.html";
const JSON_REPORT = "/answer/report.json";
const byId = (id) => document.getElementById(id);
const options = JSON.parse(byId("tables").textContent);  // of the program
const state = {files: [], model: "", worker: null, sent: 0, written: {}};

function field(option) {
  const row = options.find(({name}) => name === option);
  const label = document.createElement("label");
  const name = document.createElement("span");
  name.textContent = option.slice(2);
  let input;
  if (row.choices.length > 0) {
    input = document.createElement("select");
    input.append(...row.choices.map((choice) => new Option(choice, choice === row.initial ? "" : choice)));
  } else {
    input = document.createElement("input");
    input.placeholder = {"--batch": "the file's", "--budget": "8GiB"}[option] ?? (row.initial || "none");
    if (row.known.length > 0) input.setAttribute("list", "known" + option);
    const known = document.createElement("datalist");
    known.id = "known" + option;
    known.append(...row.known.map((word) => new Option(word, word)));
    label.append(known);
  }
  input.name = option;
  label.title = row.help;
  label.append(name, input);
  return label;
}

function buildForm() {
  const more = document.createElement("label");
  more.className = "more";
  more.title = "Any other option of the command line, as one types it there";
  const name = document.createElement("span");
  name.textContent = "more options";
  const input = document.createElement("input");
  input.name = "more";
  input.placeholder = "--loss mean --freeze embed";
  more.append(name, input);
  byId("options").append(...COMMANDS.analyze.map(field), more);
}

function readForm() {
  return Object.fromEntries(new FormData(byId("question")));
}

function fillForm(question) {
  for (const [name, value] of Object.entries(question)) {
    const control = byId("question").elements.namedItem(name);
    if (control !== null) control.value = value;
  }
}

function say(text, error = "") {
  byId("status").textContent = text;
  byId("error").textContent = error;
  byId("error").hidden = error === "";
}

function startWorker() {
  if (state.worker !== null) return;
  const source = new Blob([byId("worker").textContent], {type: "text/javascript"});
  const url = URL.createObjectURL(source);
  state.worker = new Worker(url);
  URL.revokeObjectURL(url);
  state.worker.onmessage = ({data}) => data.id === undefined ? starts(data) : shows(data);
  state.worker.onerror = (event) => breaks(event.message);
  state.worker.postMessage({wasm: byId("wasm").textContent});
}

async function exampleFile() {
  return new File([await unpacked(byId("example").textContent)], "resnet50.onnx");
}

// Code is compiled when it first runs: an answer that nobody waits for makes the first one that is waited for fast.
async function warmUp() {
  const file = await exampleFile();
  if (state.pending === undefined && state.worker !== null) post(0, [file.name], [file]);
}

function post(id, words, files) {
  state.worker.postMessage({id, words: [...words, "-o", REPORT, "-o", JSON_REPORT], files, wanted: [REPORT, JSON_REPORT]});
}

function starts({ready, why}) {
  if (!ready) say("", "This browser cannot run it (WebAssembly with exceptions, from 2022 on): " + why);
}

// The next question starts another thread.
function breaks(why) {
  endWorker();
  say("", "The program broke off: " + (why || "the browser gives no reason") + ". Another question can be put.");
}

function ask() {
  if (state.model === "") return;
  stopAsking();
  const question = readForm();
  history.replaceState(null, "", "#" + fragmentOf(question));
  state.words = wordsOf(question, state.model);
  startWorker();
  say("Reading " + state.model + " ...");
  byId("stop").hidden = false;
  state.pending = ++state.sent;
  post(state.pending, state.words, state.files);
}

// A search that runs is ended with its thread.
function stopAsking() {
  if (state.pending === undefined) return;
  endWorker();
  say("Stopped.");
}

function endWorker() {
  state.worker.terminate();
  state.worker = null;
  state.pending = undefined;
  byId("stop").hidden = true;
}

function shows({id, code, stderr, written, ms}) {
  if (id === 0 && state.model === "") return say("Ready.");
  if (id !== state.pending) return;
  state.pending = undefined;
  byId("stop").hidden = true;
  state.written = written;
  const page = written[REPORT];
  byId("keep").hidden = byId("report").hidden = page === undefined;
  if (page === undefined) return say("", stderr.trim() || "The program ended with " + code + ".");
  say("Answered in " + (ms / 1000).toFixed(2) + " s" + (code === 1 ? "; the answer is no." : "."));
  byId("command-line").textContent = commandLine(state.words);
  showReport(page);
}

function showReport(page) {
  byId("report").srcdoc = new TextDecoder().decode(page);
}

// The report is as tall as what it holds, so that there is one bar to scroll with.
function fitReport() {
  const frame = byId("report");
  const inside = frame.contentDocument;
  if (inside === null || inside.body === null) return;
  const resize = () => (frame.style.height = inside.documentElement.scrollHeight + "px");
  new ResizeObserver(resize).observe(inside.body);
  resize();
}

function save(name, type) {
  const file = name === REPORT ? "html" : "json";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([state.written[name]], {type}));
  link.download = state.model.replace(/\.onnx$/, "") + "." + file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Files beside the model hold its weights, which are not read but may be named.
function take(files) {
  const list = [...files];
  if (list.length === 0) return;
  const model = list.find((file) => file.name.endsWith(".onnx")) ?? list[0];
  state.files = list;
  state.model = model.name;
  byId("drop-words").replaceChildren(Object.assign(document.createElement("strong"), {textContent: model.name}),
                                     " " + (model.size / 2 ** 20).toFixed(1) + " MiB. Drop another, or choose one.");
  byId("lead").hidden = byId("example-line").hidden = true;
  document.body.classList.add("chosen");
  byId("answer-button").disabled = false;
  ask();
}

function start() {
  buildForm();
  fillForm(questionOf(location.hash));
  const drop = byId("drop");
  byId("file").addEventListener("change", (event) => take(event.target.files));
  drop.addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && byId("file").click());
  addEventListener("dragover", (event) => (event.preventDefault(), drop.classList.add("over")));
  addEventListener("dragleave", (event) => event.relatedTarget === null && drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files);
  });
  byId("question").addEventListener("submit", (event) => (event.preventDefault(), ask()));
  byId("question").addEventListener("change", () => ask());
  byId("stop").addEventListener("click", stopAsking);
  byId("save-page").addEventListener("click", () => save(REPORT, "text/html"));
  byId("save-json").addEventListener("click", () => save(JSON_REPORT, "application/json"));
  byId("report").addEventListener("load", fitReport);
  addEventListener("hashchange", () => (fillForm(questionOf(location.hash)), ask()));
  byId("example-button").addEventListener("click", async () => take([await exampleFile()]));
  startWorker();
  warmUp();
}

start();
