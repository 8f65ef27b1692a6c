#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
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
COMP_WORDS=(onnx-mem m.onnx --bat); COMP_CWORD=2; _onnx_mem
[[ ${COMPREPLY[*]} == --batch ]] || exit 3
COMP_WORDS=(onnx-mem m.onnx --mode t); COMP_CWORD=3; _onnx_mem
[[ ${COMPREPLY[*]} == train ]] || exit 4
COMP_WORDS=(onnx-mem compl); COMP_CWORD=1; _onnx_mem
[[ " ${COMPREPLY[*]} " == *" completion "* ]] || exit 5
)";
  EXPECT_EQ(std::system(("bash " + path).c_str()), 0);
}

bool HasShell(const std::string& shell) {
  return std::system(("command -v " + shell + " > /dev/null 2>&1").c_str()) == 0;
}

// Cards have parentheses in their names, which zsh takes for patterns. What compsys would do with the script's words is
// done by stand-ins, since compsys itself needs a terminal.
TEST(Completion, ZshReadsEveryWordAsItStands) {
  if (!HasShell("zsh")) GTEST_SKIP() << "no zsh here";
  const std::string path = testing::TempDir() + "/onnx_mem_completion.zsh";
  std::ofstream(path) << R"zsh(
compdef() { }
compadd() { shift; print -l -- "$@" }
_files() { print -- "files $*" }
_arguments() {
  local spec
  local -a ws
  for spec; do
    [[ $spec == *:\(*\) ]] || continue
    eval "ws=(${${spec##*:\(}%\)})" || exit 3
    [[ $spec == *--gpu\[* ]] && print -l -- $ws
  done
}
)zsh" << Script("zsh") << R"zsh(
words=(onnx-mem gpus ''); [[ $(_onnx_mem_operand) == *'TITAN-X-(Pascal)'* ]] || exit 4
words=(onnx-mem plan ''); [[ $(_onnx_mem_operand) == 'files -g *.onnx' ]] || exit 5
words=(onnx-mem analyze ''); [[ $(_onnx_mem_operand) == 'files -g *.(onnx|json)' ]] || exit 6
[[ $(_onnx_mem) == *'TITAN-X-(Pascal)'* ]] || exit 7
)zsh";
  EXPECT_EQ(std::system(("zsh -f " + path).c_str()), 0);
}

// The words that fish offers, without their descriptions.
std::string OfferedByFish(const std::string& line) {
  const std::string folder = testing::TempDir(), path = folder + "/onnx_mem_completion.fish";
  std::ofstream(path) << Script("fish") << "complete -C '" << line << "'\n";
  const std::string command =
      "HOME='" + folder + "' fish --no-config '" + path + "' | cut -f1 | paste -sd, > '" + folder + "/onnx_mem_fish'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::string words;
  std::getline(std::ifstream(folder + "/onnx_mem_fish"), words);
  return words;
}

TEST(Completion, FishTakesTheScriptAndCompletes) {
  if (!HasShell("fish")) GTEST_SKIP() << "no fish here";
  EXPECT_EQ(OfferedByFish("onnx-mem m.onnx --bat"), "--batch");
  EXPECT_EQ(OfferedByFish("onnx-mem m.onnx --dtype b"), "bf16");
  EXPECT_EQ(OfferedByFish("onnx-mem compl"), "completion");
  EXPECT_EQ(OfferedByFish("onnx-mem gpus TITAN-X-"), "TITAN-X-(Pascal)");
  EXPECT_EQ(OfferedByFish("onnx-mem fit m.onnx --gpu TITAN-X-"), "TITAN-X-(Pascal)");
  EXPECT_EQ(OfferedByFish("onnx-mem plan m.onnx --max-b"), "--max-batch");
  EXPECT_EQ(OfferedByFish("onnx-mem m.onnx --max-b"), "");
}

// The words that bash offers for a command line whose last word is being typed, in a folder with some files.
std::string Offered(const std::string& line) {
  namespace fs = std::filesystem;
  // Tests run side by side: each has a folder of its own.
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path folder = fs::path(testing::TempDir()) / ("onnx_mem_completed_" + test);
  fs::remove_all(folder);
  fs::create_directories(folder / "models");
  for (const char* name : {"a model.onnx", "notes.txt", "report.json", "run.pickle"}) {
    std::ofstream(folder / name) << ' ';
  }
  const fs::path script = folder / "complete.bash", out = folder / "offered";
  std::ofstream(script) << Script("bash") << "COMP_WORDS=(" << line << "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                        << "_onnx_mem; printf '%s\n' \"${COMPREPLY[@]}\" | sort | paste -sd,\n";
  const std::string command = "cd '" + folder.string() + "' && bash complete.bash > offered";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::string words;
  std::getline(std::ifstream(out), words);
  return words;
}

void Offers(const std::string& line, std::string_view word) {
  const std::string offered = "," + Offered(line) + ",";
  EXPECT_NE(offered.find("," + std::string(word) + ","), std::string::npos) << line << ": " << offered;
}

TEST(Completion, BashOffersFilesThatACommandReads) {
  EXPECT_EQ(Offered("onnx-mem plan ''"), "a model.onnx,models");
  EXPECT_EQ(Offered("onnx-mem compare ''"), "a model.onnx,models,report.json,run.pickle");
  EXPECT_EQ(Offered("onnx-mem a"), "a model.onnx,analyze");
  EXPECT_EQ(Offered("onnx-mem m.onnx --plan r"), "report.json,run.pickle");
}

TEST(Completion, BashOffersWhatTablesHold) {
  Offers("onnx-mem fit m.onnx --gpu ''", "RTX-4090");
  Offers("onnx-mem fit m.onnx --gpu 40", "4090");
  Offers("onnx-mem gpus T", "T4");
  Offers("onnx-mem m.onnx --optimizer adam", "adamw");
  Offers("onnx-mem m.onnx -f ''", "html");
  EXPECT_EQ(Offered("onnx-mem m.onnx --dtype ''"), "bf16,file,fp16,fp32");
  EXPECT_EQ(Offered("onnx-mem m.onnx --attention e"), "eager,efficient");
  EXPECT_EQ(Offered("onnx-mem completion ''"), "bash,fish,zsh");
}

TEST(Completion, BashOffersOptionsOfTheCommandAlone) {
  EXPECT_EQ(Offered("onnx-mem plan m.onnx --max-b"), "--max-batch");
  EXPECT_EQ(Offered("onnx-mem m.onnx --max-b"), "");
}

TEST(OfferedFor, IsTakenByTheOption) {
  for (const OptionRow& row : OptionRows()) {
    for (const std::string& word : OfferedFor(row)) {
      Options options;
      EXPECT_TRUE(row.Apply(word, options).ok()) << row.long_name << ' ' << word;
    }
  }
}

TEST(Completion, RefusesAnotherShell) {
  Options options;
  options.operands = {"tcsh"};
  EXPECT_FALSE(RunCompletion(options).ok());
}

}  // namespace
}  // namespace onnx_mem
