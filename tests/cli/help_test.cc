#include "cli/commands/help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "report/parts/layout.h"

namespace onnx_mem {
namespace {

TEST(ShortHelp, FitsASmallTerminal) {
  const std::string help = ShortHelp();
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 24);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(LongHelp, NamesEveryOptionOfTheCommand) {
  for (const CommandRow& command : CommandRows()) {
    const std::string help = LongHelp(command);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
    for (const OptionRow& row : OptionRows()) {
      if (row.long_name.empty()) continue;
      const bool shown = help.find(std::string(row.long_name) + (row.value.empty() ? "" : " ")) != std::string::npos;
      EXPECT_TRUE(shown || (row.commands & command.bit) == 0) << command.name << row.long_name;
    }
  }
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ManPage, IsRenderedWithEveryCommandAndOption) {
  if (std::system("groff --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no groff";
  const std::string source = testing::TempDir() + "/onnx-mem.1", text = source + ".txt", complaints = source + ".err";
  std::ofstream(source) << ManPage();
  const std::string command = "groff -man -Tutf8 -ww -P-cbou '" + source + "' > '" + text + "' 2> '" + complaints + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(TextOf(complaints), "");
  const std::string page = TextOf(text);
  for (const CommandRow& command_row : CommandRows()) {
    EXPECT_NE(page.find(Usage(command_row)), std::string::npos) << command_row.name;
  }
  for (const OptionRow& row : OptionRows()) {
    EXPECT_NE(page.find(row.long_name), std::string::npos) << row.long_name;
  }
}

TEST(VersionText, BeginsAsGnuProgramsDo) {
  EXPECT_EQ(VersionText().substr(0, VersionText().find('\n')), "onnx-mem " + std::string(kVersion));
}

}  // namespace
}  // namespace onnx_mem
