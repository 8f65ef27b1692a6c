#include "cli/commands/help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/report/parts/layout.h"

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

TEST(VersionText, BeginsAsGnuProgramsDo) {
  EXPECT_EQ(VersionText().substr(0, VersionText().find('\n')), "onnx-mem " + std::string(kVersion));
}

}  // namespace
}  // namespace onnx_mem
