#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "cli/commands/commands.h"

namespace onnx_mem {
namespace {

std::string Script(const std::string& shell) {
  Options options;
  options.operands = {shell};
  return RunCompletion(options)->text;
}

TEST(Completion, HasEveryOptionInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Script(shell);
    for (const OptionRow& row : OptionRows()) {
      if (row.long_name.empty()) continue;
      const std::string_view name = std::string_view(shell) == "fish" ? row.long_name.substr(2) : row.long_name;
      EXPECT_NE(script.find(name), std::string::npos) << shell << " " << name;
    }
  }
}

TEST(Completion, BashTakesTheScriptAndCompletes) {
  const std::string path = testing::TempDir() + "/onnx_mem_completion.bash";
  std::ofstream(path) << Script("bash") << R"(
COMP_WORDS=(onnx-mem m.onnx --ba); COMP_CWORD=2; _onnx_mem
[[ ${COMPREPLY[*]} == --batch ]] || exit 3
COMP_WORDS=(onnx-mem m.onnx --mode t); COMP_CWORD=3; _onnx_mem
[[ ${COMPREPLY[*]} == train ]] || exit 4
COMP_WORDS=(onnx-mem compl); COMP_CWORD=1; _onnx_mem
[[ " ${COMPREPLY[*]} " == *" completion "* ]] || exit 5
)";
  EXPECT_EQ(std::system(("bash " + path).c_str()), 0);
}

TEST(Completion, RefusesAnotherShell) {
  Options options;
  options.operands = {"tcsh"};
  EXPECT_FALSE(RunCompletion(options).ok());
}

}  // namespace
}  // namespace onnx_mem
