// Programs with a planted cause (testdata/snapshots/programs): the first finding names it, and the line; programs that
// are well have none.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/snapshot/explain.h"
#include "analyzer/snapshot/snapshot.h"

namespace onnx_mem {
namespace {

const std::string& Folder() {
  static const std::string& folder = *new std::string(std::string(ONNX_MEM_UNPACKED_DIR) + "/snapshots/");
  return folder;
}

struct Planted {
  std::string name;
  std::string code;
  std::string line;  // "" where no stack can tell
};

std::vector<Planted> AllPlanted() {
  std::ifstream file(Folder() + "expected.txt");
  std::vector<Planted> all;
  for (std::string text; std::getline(file, text);) {
    Planted& planted = all.emplace_back();
    std::istringstream words(text);
    words >> planted.name >> planted.code >> planted.line;
  }
  return all;
}

Explanation Explained(const std::string& name) {
  const absl::StatusOr<AllocatorSnapshot> snapshot = ReadSnapshot(Folder() + name + ".pickle");
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? Explain(*snapshot) : Explanation();
}

class PlantedTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedTest, IsTheFirstFinding) {
  const Planted& planted = GetParam();
  const Explanation explanation = Explained(planted.name);
  if (planted.code == "healthy") {
    EXPECT_TRUE(explanation.findings.empty()) << RowOf(explanation.findings.front().kind).code;
    return;
  }
  ASSERT_FALSE(explanation.findings.empty());
  const ExplainedFinding& first = explanation.findings.front();
  EXPECT_EQ(RowOf(first.kind).code, planted.code);
  if (!planted.line.empty()) {
    EXPECT_EQ(first.line, planted.line);
  }
  EXPECT_GT(first.bytes, 0);
}

// What is shown adds up: blocks are lines, and are what the allocator says is allocated, but for its rounding.
TEST_P(PlantedTest, BlocksAddUp) {
  const Explanation explanation = Explained(GetParam().name);
  int64_t blocks = 0, lines = 0, rounded = 0;
  for (const OwnedBlock& block : explanation.blocks) {
    blocks += block.bytes;
    rounded += (block.bytes + 511) / 512 * 512;
  }
  for (const OwnedLine& line : explanation.lines) lines += line.bytes;
  EXPECT_EQ(blocks, lines);
  EXPECT_EQ(rounded, explanation.division.allocated_bytes);
  EXPECT_LE(explanation.division.allocated_bytes, explanation.division.reserved_bytes);
  EXPECT_EQ(explanation.division.reserved_bytes - explanation.division.allocated_bytes,
            explanation.division.gap_bytes + explanation.division.free_segment_bytes);
}

INSTANTIATE_TEST_SUITE_P(Programs, PlantedTest, testing::ValuesIn(AllPlanted()),
                         [](const testing::TestParamInfo<Planted>& info) { return info.param.name; });

TEST(PlantedPrograms, AreAtLeastTwentyAndFiveThatAreWell) {
  int well = 0, planted = 0;
  for (const Planted& one : AllPlanted()) ++(one.code == "healthy" ? well : planted);
  EXPECT_GE(planted, 20);
  EXPECT_GE(well, 5);
}

// A file that ends early, wherever it does, is an error; so is each that a bit was turned in, or it is read.
TEST(PlantedPrograms, DamagedFilesAreErrors) {
  std::ifstream file(Folder() + "broadcast.pickle", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 1000u);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseSnapshot(whole.substr(0, length), "x.pickle").ok()) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const absl::StatusOr<AllocatorSnapshot> snapshot = ParseSnapshot(damaged, "x.pickle");
    if (snapshot.ok()) (void)Explain(*snapshot);
  }
}

}  // namespace
}  // namespace onnx_mem
