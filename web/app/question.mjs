// What the form holds <-> the program's words <-> the page's fragment.

// Words as a shell splits them: blanks part them, quotes hold them together.
export function splitWords(text) {
  return [...text.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

export const COMMANDS = {
  analyze: ["--batch", "--dtype", "--amp", "--optimizer", "--gpu", "--budget"],
  plan: ["--batch", "--dtype", "--amp", "--optimizer", "--gpu", "--budget"],
  fit: ["--batch", "--dtype", "--amp", "--optimizer", "--gpu", "--budget"],
};

// `question`: {command, more, "--batch": "64", ...}; what is empty is not said.
export function wordsOf(question, model) {
  const words = question.command === "analyze" ? [] : [question.command];
  words.push(model.startsWith("-") ? "./" + model : model);
  for (const option of COMMANDS[question.command]) {
    const value = (question[option] ?? "").trim();
    if (value !== "") words.push(option, value);
  }
  return words.concat(splitWords(question.more ?? ""));
}

export function fragmentOf(question) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(question)) {
    if (value !== "" && !(name === "command" && value === "analyze")) parts.set(name.replace(/^--/, ""), value);
  }
  return parts.toString();
}

export function questionOf(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const question = {command: "analyze", more: ""};
  if (Object.hasOwn(COMMANDS, parts.get("command") ?? "")) question.command = parts.get("command");
  for (const option of COMMANDS[question.command]) question[option] = parts.get(option.slice(2)) ?? "";
  question.more = parts.get("more") ?? "";
  return question;
}

// As one would type it.
export function commandLine(words) {
  return ["onnx-mem", ...words].map((word) => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'")
      .join(" ");
}
