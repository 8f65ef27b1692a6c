#include "cli/options/option_table.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/ascii.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/study/assumption_list.h"
#include "cli/commands/commands.h"
#include "report/parts/formats.h"

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
      EXPECT_TRUE(row.Apply(choice, options).ok()) << row.long_name << " " << choice;
    }
  }
}

TEST(OptionRows, NothingElseIsTakenWhereOnlyChoicesAreShown) {
  for (const OptionRow& row : OptionRows()) {
    if (ChoicesOf(row).empty() || row.value.find("REGEX") != std::string_view::npos) continue;
    Options options;
    EXPECT_FALSE(row.Apply("nonsense", options).ok()) << row.long_name;
  }
}

// Every enumeration: in any case, and with a suggestion for what is nearly a choice.
TEST(OptionRows, ChoicesAreTakenInAnyCaseAndTyposAreReported) {
  for (const OptionRow& row : OptionRows()) {
    for (const std::string& choice : ChoicesOf(row)) {
      if (row.long_name == "--units") continue;  // sizes tell GB from GiB in their own way
      Options options;
      EXPECT_TRUE(row.Apply(absl::AsciiStrToUpper(choice), options).ok()) << row.long_name << " " << choice;
      if (choice.size() < 4 || row.value.find("REGEX") != std::string_view::npos) continue;
      const absl::Status status = row.Apply(choice + "x", options);
      ASSERT_FALSE(status.ok()) << row.long_name << " " << choice;
      const std::vector<std::string> details = DiagnosticOf(status).details;
      ASSERT_FALSE(details.empty()) << row.long_name << " " << choice;
      EXPECT_NE(details.front().find("did you mean: "), std::string::npos) << row.long_name;
      EXPECT_NE(details.front().find(choice), std::string::npos) << row.long_name;
    }
  }
}

TEST(OptionRows, TakeWhatFrameworksCallIt) {
  const auto applied = [](std::string_view name, std::string_view value) {
    Options options;
    EXPECT_TRUE(RowNamed(name).Apply(value, options).ok()) << name << " " << value;
    return options;
  };
  for (const char* text : {"fp16", "FP16", "float16", "half", "torch.float16"}) {
    EXPECT_EQ(applied("--dtype", text).workload.run.dtype, DType::kFloat16) << text;
    EXPECT_EQ(applied("--amp", text).workload.run.autocast, DType::kFloat16) << text;
  }
  for (const char* text : {"bfloat16", "BF16"}) {
    EXPECT_EQ(applied("--dtype", text).workload.run.dtype, DType::kBFloat16) << text;
  }
  for (const char* text : {"float32", "float", "FP32"}) {
    EXPECT_EQ(applied("--dtype", text).workload.run.dtype, DType::kFloat32) << text;
  }
  for (const char* text : {"CrossEntropy", "cross_entropy", "ce", "CrossEntropyLoss"}) {
    EXPECT_EQ(applied("--loss", text).workload.run.loss, LossKind::kCrossEntropy) << text;
  }
  EXPECT_EQ(applied("--optimizer", "AdamW").workload.optimizer.name, "adamw");
  EXPECT_EQ(applied("--optimizer", "torch.optim.SGD").workload.optimizer.name, "sgd");
  EXPECT_EQ(applied("--optimizer", "sgd_momentum").workload.optimizer.name, "momentum");
  EXPECT_EQ(applied("--mode", "training").workload.mode, Mode::kTraining);
  EXPECT_EQ(applied("--mode", "inference").workload.mode, Mode::kInference);
  EXPECT_EQ(applied("--attention", "Flash_Attention").workload.run.attention, AttentionKernel::kFlash);
  EXPECT_EQ(applied("--attention", "mem_efficient").workload.run.attention, AttentionKernel::kEfficient);
  EXPECT_EQ(applied("--format", "markdown").format, "md");
  EXPECT_EQ(applied("--export", "Markdown=r.txt").exports.front().format, "md");
  EXPECT_EQ(applied("--export", "R.JSON").exports.front().format, "json");
  EXPECT_EQ(applied("--inplace", "None").workload.run.inplace, "none");
  EXPECT_EQ(applied("--dropout", "File").workload.run.dropout, 0.0);
  Options options;
  const std::vector<std::string> details = DiagnosticOf(RowNamed("--optimizer").Apply("adamx", options)).details;
  ASSERT_FALSE(details.empty());
  EXPECT_EQ(details.front(), "did you mean: adam, adamw");
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

TEST(ReportedOptions, AreOptionsEachAtAPlaceOfItsOwn) {
  std::set<int> places;
  for (const ReportedOption& option : ReportedOptions()) {
    const OptionRow* row = OptionNamed("--" + std::string(option.name));
    ASSERT_NE(row, nullptr) << option.name;
    EXPECT_TRUE(places.insert(option.place).second) << option.name;
    EXPECT_TRUE(option.separator.empty() || row->setter.repeatable) << option.name;
  }
}

TEST(OptionRows, WhatMayBeRepeatedMayBeCleared) {
  for (const OptionRow& row : OptionRows()) {
    EXPECT_EQ(row.setter.repeatable, row.setter.clear != nullptr) << row.long_name;
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
