import assert from "node:assert/strict";
import test from "node:test";
import {commandLine, fragmentOf, questionOf, splitWords, wordsOf} from "../../web/app/question.mjs";

test("words are split as a shell splits them", () => {
  assert.deepEqual(splitWords("--lora r=8  --freeze 'a b' --gpu=\"RTX 4090\""), ["--lora", "r=8", "--freeze", "a b", "--gpu=RTX 4090"]);
  assert.deepEqual(splitWords("  "), []);
});

test("what is empty is not said, and no model is taken for an option", () => {
  const question = {command: "plan", "--batch": "64", "--gpu": "", "--budget": " 4GiB ", more: "--loss mean"};
  assert.deepEqual(wordsOf(question, "-m.onnx"), ["plan", "./-m.onnx", "--batch", "64", "--budget", "4GiB", "--loss", "mean"]);
  assert.deepEqual(wordsOf({command: "analyze"}, "m.onnx"), ["m.onnx"]);
});

test("a link keeps the question, all of it, and nothing else", () => {
  const question = {command: "fit", "--batch": "8", "--dtype": "", "--amp": "bf16", "--optimizer": "sgd", "--gpu": "RTX 4090",
                    "--budget": "", more: "--lora r=8 & more"};
  assert.deepEqual(questionOf("#" + fragmentOf(question)), question);
  assert.equal(fragmentOf({command: "analyze", "--batch": "", more: ""}), "");
  assert.equal(questionOf("#command=constructor").command, "analyze");
  assert.equal(questionOf("#command=toString&x=1").command, "analyze");
});

test("the command line can be pasted", () => {
  assert.equal(commandLine(["it's.onnx", "--gpu", "RTX 4090"]), "onnx-mem 'it'\\''s.onnx' --gpu 'RTX 4090'");
});
