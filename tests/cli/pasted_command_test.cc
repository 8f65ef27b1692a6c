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

TEST(WithCommands, OptionsStandBeforeTheEndOfAllOptions) {
  Diagnostic error;
  error.details = {"try: ... --dim seq=64   # or another length"};
  EXPECT_EQ(WithCommands(error, OptionsOf({"--", "-odd.onnx"}, "-odd.onnx")).details[0],
            "try: onnx-mem --dim seq=64 -- -odd.onnx   # or another length");
}

}  // namespace
}  // namespace onnx_mem
