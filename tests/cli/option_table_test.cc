#include "cli/option_table.h"

#include <gtest/gtest.h>

#include <set>

#include "analyzer/allocators/allocator.h"
#include "cli/commands.h"
#include "cli/report/formats.h"

namespace onnx_mem {
namespace {

const OptionRow& RowNamed(std::string_view name) {
  for (const OptionRow& row : OptionRows()) {
    if (row.long_name == name) return row;
  }
  ADD_FAILURE() << name;
  return OptionRows().front();
}

TEST(OptionRows, EveryChoiceThatIsShownIsTaken) {
  for (const OptionRow& row : OptionRows()) {
    for (const std::string& choice : ChoicesOf(row)) {
      Options options;
      EXPECT_TRUE(row.apply(choice, options).ok()) << row.long_name << " " << choice;
    }
  }
}

TEST(OptionRows, NothingElseIsTakenWhereOnlyChoicesAreShown) {
  for (const OptionRow& row : OptionRows()) {
    if (ChoicesOf(row).empty() || row.value.find("REGEX") != std::string_view::npos) continue;
    Options options;
    EXPECT_FALSE(row.apply("nonsense", options).ok()) << row.long_name;
  }
}

TEST(OptionRows, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const OptionRow& row : OptionRows()) {
    for (std::string_view name : {row.short_name, row.long_name}) {
      EXPECT_TRUE(name.empty() || names.insert(name).second) << name;
    }
    EXPECT_FALSE(row.help.empty());
  }
}

TEST(OptionRows, GroupsAreTogether) {
  std::set<OptionGroup> seen;
  OptionGroup last = OptionRows().front().group;
  for (const OptionRow& row : OptionRows()) {
    EXPECT_TRUE(row.group == last || (seen.insert(last).second && !seen.contains(row.group))) << row.long_name;
    last = row.group;
  }
}

TEST(OptionRows, ShowTheAllocatorsAndFormatsThereAre) {
  std::set<std::string> allocators, formats;
  for (const AllocatorRow& row : Allocators()) allocators.emplace(row.name);
  const std::vector<std::string> shown = ChoicesOf(RowNamed("--allocator"));
  EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()), allocators);
  EXPECT_EQ(ChoicesOf(RowNamed("--format")), FormatNames());
}

TEST(ChoicesOf, LeavesOutPlaceholders) {
  EXPECT_EQ(ChoicesOf(RowNamed("--inplace")), (std::vector<std::string>{"auto", "norms", "all", "none"}));
  EXPECT_EQ(ChoicesOf(RowNamed("--dropout")), (std::vector<std::string>{"auto", "file"}));
  EXPECT_TRUE(ChoicesOf(RowNamed("--batch")).empty());
}

TEST(CommandRows, BitsAreDistinctAndTheFirstIsTheDefault) {
  CommandSet bits = 0;
  for (const CommandRow& row : CommandRows()) {
    EXPECT_EQ(bits & row.bit, 0u) << row.name;
    bits |= row.bit;
    EXPECT_EQ(CommandNamed(row.name), &row);
  }
  EXPECT_EQ(CommandRows().front().name, Options().command);
  EXPECT_EQ(CommandNamed("frobnicate"), nullptr);
}

}  // namespace
}  // namespace onnx_mem
