// What the search box finds in a run: tensors, modules and operators.

function wordsOf(query) {
  return query.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

// Places of strings that hold all of `words` between them: `has(a, b, ...)`.
function matcher(run, words) {
  // One look at each string, not one at each buffer and step: there are many more of them.
  const lower = run.strings.map((text) => text.toLowerCase());
  const hits = words.map((word) => lower.map((text) => text.includes(word)));
  return (...of) => hits.every((hit) => of.some((text) => hit[text]));
}

// Buffers whose name, module, shape or reason holds all words of `query`, largest first.
function foundBuffers(run, has) {
  const b = run.buffers;
  const found = [];
  for (let i = 0; i < b.count; ++i) {
    if (has(b.name[i], b.module[i], b.text[i], b.keptBy[i])) found.push(i);
  }
  return found.sort((x, y) => b.bytes[y] - b.bytes[x] || x - y);
}

// Steps by the text `of` them that holds all words: [{name, steps}], most steps first.
function foundSteps(run, has, of) {
  const groups = new Map();
  for (let step = 0; step < run.steps.count; ++step) {
    const text = of[step];
    if (text === 0 || !has(text)) continue;
    if (!groups.has(text)) groups.set(text, []);
    groups.get(text).push(step);
  }
  return [...groups].map(([text, steps]) => ({name: run.strings[text], steps}))
      .filter((group) => group.name !== "").sort((a, b) => b.steps.length - a.steps.length || a.steps[0] - b.steps[0]);
}

// {tensors, modules, operators}; null for a query without words.
export function searchRun(run, query) {
  const words = wordsOf(query);
  if (words.length === 0) return null;
  const has = matcher(run, words);
  return {
    tensors: foundBuffers(run, has),
    modules: foundSteps(run, has, run.steps.module),
    operators: foundSteps(run, has, run.steps.op),
  };
}

// Steps of what was found, each once, in order.
export function stepsFound(found) {
  const steps = new Set();
  for (const group of [...found.modules, ...found.operators]) group.steps.forEach((step) => steps.add(step));
  return [...steps].sort((a, b) => a - b);
}

// The first of `steps` behind `step`; behind the last the first again.
export function nextOf(steps, step) {
  return steps.find((candidate) => candidate > step) ?? steps[0];
}
