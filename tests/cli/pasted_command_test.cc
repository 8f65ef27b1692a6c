#include "cli/pasted_command.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_mem {
namespace {

Options OptionsOf(const std::vector<std::string>& words, const std::string& model) {
  Options options;
  options.arguments = words;
  options.operands = {model};
  return options;
}

// What is printed behind "try:" is pasted: the user's own words stay, in quotes where a shell would take them apart.
TEST(WithCommands, AddsOptionsToTheCommandLineAsItWas) {
  Diagnostic error;
  error.details = {"try: ... --dim s77=512", "try: onnx-mem MODEL --by layer   # lists the names", "why: MODEL is big"};
  const Diagnostic shown =
      WithCommands(error, OptionsOf({"fit", "my model.onnx", "-b", "4", "--gpu", "T4"}, "my model.onnx"));
  EXPECT_EQ(shown.details, (std::vector<std::string>{"try: onnx-mem fit 'my model.onnx' -b 4 --gpu T4 --dim s77=512",
                                                     "try: onnx-mem 'my model.onnx' --by layer   # lists the names",
                                                     "why: MODEL is big"}));
}

std::string Pasted(const std::string& proposed, const std::vector<std::string>& words,
                   const std::string& message = "") {
  Diagnostic error;
  error.message = message;
  error.details = {"try: " + proposed};
  return WithCommands(error, OptionsOf(words, "m.onnx")).details[0];
}

// Two values of an option that takes one, or a wrong one beside a right one, are refused or mean something else.
TEST(WithCommands, AnOptionTakesThePlaceOfTheUsersOwn) {
  EXPECT_EQ(Pasted("... -b 32   # one batch", {"plan", "m.onnx", "-b", "32,64", "--budget", "80%"}),
            "try: onnx-mem plan m.onnx --budget 80% -b 32   # one batch");
  EXPECT_EQ(Pasted("... -b 32", {"m.onnx", "--batch=32,64", "-q"}), "try: onnx-mem m.onnx -q -b 32");
  EXPECT_EQ(Pasted("... -b 32", {"m.onnx", "-b32,64", "-q"}), "try: onnx-mem m.onnx -q -b 32");
  EXPECT_EQ(Pasted("... --dim seq=8", {"m.onnx", "-d", "seq=7", "-d", "past=3"}),
            "try: onnx-mem m.onnx -d past=3 --dim seq=8");
  EXPECT_EQ(Pasted("... --gpu-memory 24GiB", {"m.onnx", "--gpu", "T5"}), "try: onnx-mem m.onnx --gpu-memory 24GiB");
  EXPECT_EQ(Pasted("... --gpu 'A100 PCIe 40GB'", {"m.onnx", "--gpu", "A100"}, "--gpu: 'A100' names cards"),
            "try: onnx-mem m.onnx --gpu 'A100 PCIe 40GB'");
}

TEST(WithCommands, OptionsThatAddUpStay) {
  EXPECT_EQ(Pasted("... --no-rewrite silu", {"m.onnx", "--no-rewrite", "gelu", "-b", "4"}),
            "try: onnx-mem m.onnx --no-rewrite gelu -b 4 --no-rewrite silu");
}

// check says what to try, and does not take every option itself.
TEST(WithCommands, AnAnalysisTakesWhatTheCommandDoesNot) {
  Options options = OptionsOf({"check", "m.onnx", "-b", "4"}, "m.onnx");
  options.command = "check";
  Diagnostic note;
  note.details = {"try: ... --dropout 0.1", "try: ... --bn as-is"};
  EXPECT_EQ(WithCommands(note, options).details,
            (std::vector<std::string>{"try: onnx-mem m.onnx -b 4 --dropout 0.1",
                                      "try: onnx-mem check m.onnx -b 4 --bn as-is"}));
}

// check needs no sizes of a file; an analysis of the same file does.
TEST(WithCommands, AnAnalysisHasTheSizesThatTheCommandDidWithout) {
  Options options = OptionsOf({"check", "m.onnx", "-d", "past=0"}, "m.onnx");
  options.command = "check";
  Diagnostic note;
  note.details = {"try: ... --dropout 0.1   # or another", "try: ... --bn as-is", "try: onnx-mem MODEL --by layer"};
  EXPECT_EQ(WithCommands(note, options, "--dim seq=16").details,
            (std::vector<std::string>{"try: onnx-mem m.onnx -d past=0 --dropout 0.1 --dim seq=16   # or another",
                                      "try: onnx-mem check m.onnx -d past=0 --bn as-is",
                                      "try: onnx-mem m.onnx -d past=0 --dim seq=16 --by layer"}));
}

TEST(WithCommands, AModelKeepsItsSizes) {
  EXPECT_EQ(Pasted("onnx-mem MODEL --by tensor", {"fit", "m.onnx", "-d", "seq=7", "--gpu", "T4"}),
            "try: onnx-mem m.onnx -d seq=7 --by tensor");
}

TEST(WithCommands, OptionsStandBeforeTheEndOfAllOptions) {
  Diagnostic error;
  error.details = {"try: ... --dim seq=64   # or another length"};
  EXPECT_EQ(WithCommands(error, OptionsOf({"--", "-odd.onnx"}, "-odd.onnx")).details[0],
            "try: onnx-mem --dim seq=64 -- -odd.onnx   # or another length");
}

std::string PlanOf(const std::vector<std::string>& words, const std::string& more) {
  Options options = OptionsOf(words, "m.onnx");
  options.command = "fit";
  return CommandOf("plan", options, more);
}

TEST(CommandOf, KeepsWhatTheOtherCommandTakes) {
  EXPECT_EQ(
      PlanOf({"fit", "m.onnx", "-b", "8", "--over", "batch", "--fsdp", "2..64", "--gpu", "RTX 4090", "-f", "json"},
             "--fsdp 4"),
      "onnx-mem plan m.onnx -b 8 --over batch --gpu 'RTX 4090' --fsdp 4");
  EXPECT_EQ(PlanOf({"fit", "--gpu", "T4,L4", "--budget=4GiB", "--", "-m.onnx"}, "--fsdp 4 --gpu L4"),
            "onnx-mem plan --fsdp 4 --gpu L4 -- -m.onnx");
  EXPECT_EQ(PlanOf({}, "--fsdp 4"), "");  // the library has no command line
}

}  // namespace
}  // namespace onnx_mem
