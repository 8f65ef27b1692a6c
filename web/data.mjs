// The page's data, read. report/page/page_data.cc writes it and says how.

// A column: base64 of LEB128 numbers, folded so that small negative ones are small.
export function unpack(text) {
  const raw = atob(text);
  const numbers = [];
  let value = 0, scale = 1;
  for (let i = 0; i < raw.length; ++i) {
    const byte = raw.charCodeAt(i);
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) {
      numbers.push(value % 2 === 0 ? value / 2 : -(value + 1) / 2);
      value = 0;
      scale = 1;
    }
  }
  return numbers;
}

// [shared, rest, shared, rest ...], each sharing its first characters with the string before.
export function unpackStrings(list) {
  const strings = [];
  let last = "";
  for (let i = 0; i + 1 < list.length; i += 2) {
    last = last.slice(0, list[i]) + list[i + 1];
    strings.push(last);
  }
  return strings;
}

function sums(changes) {
  let sum = 0;
  return changes.map((change) => (sum += change));
}

// `make` runs when the member is first read: a page may hold many runs, of which one is looked at.
function lazily(object, name, make) {
  Object.defineProperty(object, name, {configurable: true, enumerable: true, get: () => {
    const value = make();
    Object.defineProperty(object, name, {value});
    return value;
  }});
}

function readSteps(raw) {
  const phase = unpack(raw.phase);
  return {
    count: raw.count,
    op: unpack(raw.op),
    node: unpack(raw.node),
    module: unpack(raw.module),
    phase: phase.map((p) => p >> 1),
    recompute: phase.map((p) => (p & 1) === 1),
  };
}

function readBuffers(b) {
  const kindBytes = unpack(b.kind_bytes);
  const kindText = unpack(b.kind_text);
  const kind = unpack(b.kind);
  const category = unpack(b.category);
  const begin = sums(unpack(b.begin));
  const length = unpack(b.length);
  return {
    count: b.count,
    name: unpack(b.name),
    keptBy: unpack(b.kept_by),
    module: unpack(b.module),
    category: category.map((c) => c >> 1),
    made: category.map((c) => (c & 1) === 1),  // by a step of the run; else there before it
    bytes: kind.map((k) => kindBytes[k]),
    text: kind.map((k) => kindText[k]),
    begin,
    end: begin.map((first, i) => first + length[i]),
    address: b.address === null ? null : unpack(b.address).map((a) => (a < 0 ? -1 : a * 256)),
  };
}

function readOthers(raw) {
  const bytes = {};
  for (const key of Object.keys(raw.changes)) bytes[key] = sums(unpack(raw.changes[key]));
  return {count: raw.count, bytes};
}

function readRun(raw, strings) {
  const run = {
    name: raw.name,
    strings,
    peakBytes: raw.peak_bytes,
    peakStep: raw.peak_step,
    deviceBytes: raw.device_bytes,
    reservedBytes: raw.reserved_peak_bytes,
    limitBytes: raw.limit_bytes,
    base: raw.base ?? null,  // of a comparison: the run that this one is held against
  };
  lazily(run, "steps", () => readSteps(raw.steps));
  lazily(run, "buffers", () => readBuffers(raw.buffers));
  lazily(run, "others", () => readOthers(raw.others));
  return run;
}

// null for a page without pictures.
export function readData(raw) {
  if (!raw.runs || raw.runs.length === 0) return null;
  const strings = unpackStrings(raw.strings);
  return {
    categories: raw.categories,
    runs: raw.runs.map((run) => readRun(run, strings)),
    plans: raw.plans || [],
    budgetBytes: raw.budget_bytes ?? null,
    budgetOn: raw.budget_on ?? "device",
    costIn: raw.cost_in ?? "time",
  };
}

export const PHASES = ["forward", "loss", "backward", "optimizer"];

// What a step is, in a few words: operator, and where in the model.
export function stepText(run, step) {
  const steps = run.steps;
  const where = run.strings[steps.module[step]] || run.strings[steps.node[step]];
  return {
    phase: PHASES[steps.phase[step]] + (steps.recompute[step] ? ", recomputed" : ""),
    op: run.strings[steps.op[step]],
    where,
  };
}

// Its own name, or what made it.
export function bufferName(run, i) {
  const b = run.buffers;
  return run.strings[b.name[i]] || "(" + stepText(run, b.begin[i]).op + ")";
}

// Buffers alive at `step`, largest first.
export function aliveAt(run, step) {
  const {begin, end, bytes, count} = run.buffers;
  const alive = [];
  for (let i = 0; i < count; ++i) {
    if (begin[i] <= step && step < end[i]) alive.push(i);
  }
  return alive.sort((a, b) => bytes[b] - bytes[a] || a - b);
}

// Why a tensor is there, one sentence after another.
export function whyAlive(run, buffer, categories) {
  const b = run.buffers;
  const lines = [];
  const kept = run.strings[b.keptBy[buffer]];
  const made = stepText(run, b.begin[buffer]);
  if (b.made[buffer]) {
    lines.push("Made in step " + (b.begin[buffer] + 1) + " (" + made.phase + ") by " + made.op +
               (made.where ? " in " + made.where : "") + ".");
  } else {
    lines.push("There before the first step: it is one of the " + categories[b.category[buffer]] + ".");
  }
  if (kept) lines.push(kept.charAt(0).toUpperCase() + kept.slice(1) + ".");
  if (b.end[buffer] >= run.steps.count) {
    lines.push("Alive to the end of the run.");
  } else {
    const last = stepText(run, b.end[buffer] - 1);
    lines.push("Last needed in step " + b.end[buffer] + " (" + last.phase + ") by " + last.op +
               (last.where ? " in " + last.where : "") + "; freed behind it.");
  }
  return lines;
}
