// One row is one row: the names of a table's rows are listed in no other source. A list is three of them within some
// lines; a name alone is a use. Names that are words of another language too (an operator, "none") do not count.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNearby = 200;  // characters, of code

struct Table {
  std::string what;
  std::string file;
  std::string row;                       // a regular expression with the name as its group
  std::set<std::string> shared = {};     // with another vocabulary
  std::set<std::string> elsewhere = {};  // files that say of several rows what only they know
};
void PrintTo(const Table& table, std::ostream* out) { *out << table.what; }

std::string Contents(const fs::path& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Without comments.
std::string Code(const fs::path& path) {
  std::ifstream in(path);
  std::string code;
  for (std::string line; std::getline(in, line);) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

std::set<std::string> NamesOf(const Table& table) {
  const std::string text = Contents(fs::path(ONNX_MEM_SOURCE_DIR) / table.file);
  const std::regex row(table.row);
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), row); it != std::sregex_iterator(); ++it) {
    names.insert((*it)[1]);
  }
  for (const std::string& name : table.shared) EXPECT_EQ(names.erase(name), 1) << name << " is no row any more";
  return names;
}

// The first three or more of `names` that stand together; empty if none do.
std::set<std::string> ListIn(const std::string& code, const std::set<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> places;
  for (const std::string& name : names) {
    const std::string quoted = name.starts_with("Code::") ? name + "," : "\"" + name + "\"";
    for (size_t at = code.find(quoted); at != std::string::npos; at = code.find(quoted, at + 1)) {
      places.emplace_back(at, name);
    }
  }
  std::sort(places.begin(), places.end());
  for (const auto& [first, unused] : places) {
    std::set<std::string> near;
    for (const auto& [at, name] : places) {
      if (at >= first && at < first + kNearby) near.insert(name);
    }
    if (near.size() >= 3) return near;
  }
  return {};
}

TEST(ListIn, SeesThreeTogether) {
  const std::set<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(ListIn(R"({"c", 1}, {"a", 2}, {"b", 3})", names), names);
  EXPECT_TRUE(ListIn(R"({"c", 1}, {"a", 2}, {"a", 3})", names).empty());
  EXPECT_TRUE(ListIn(R"("a" "b")" + std::string(kNearby, ' ') + R"("c")", names).empty());
}

class Rows : public testing::TestWithParam<Table> {};

TEST_P(Rows, AreListedInTheirTableAlone) {
  const std::set<std::string> names = NamesOf(GetParam());
  ASSERT_GE(names.size(), 2u) << "the rows of " << GetParam().file << " are not found";
  std::set<std::string> listed;
  for (const char* folder : {"analyzer", "solver", "planner", "report", "cli", "library", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(ONNX_MEM_SOURCE_DIR) / folder)) {
      const std::string file = fs::relative(entry.path(), ONNX_MEM_SOURCE_DIR).generic_string();
      const std::string type = entry.path().extension().string();
      if (file == GetParam().file || (type != ".cc" && type != ".h" && type != ".inc")) continue;
      for (const std::string& name : ListIn(Code(entry.path()), names)) {
        listed.insert(file);
        if (GetParam().elsewhere.contains(file)) continue;
        ADD_FAILURE() << file << " lists " << name << " of " << GetParam().file;
      }
    }
  }
  EXPECT_EQ(listed, GetParam().elsewhere) << "take what lists nothing any more out of this test";
}

INSTANTIATE_TEST_SUITE_P(Tables, Rows,
                         testing::Values(
                             // The shared ones are operators of the framework.
                             Table{"rewrite",
                                   "analyzer/prepare/rewrite_table.inc",
                                   "ROW\\(\\w+, \"([^\"]+)\"",
                                   {"addcmul", "attention", "dropout", "gelu", "glu", "hardswish", "mish", "roll",
                                    "rsqrt", "silu"}},
                             Table{"allocator", "analyzer/allocators/allocator_table.inc", "ROW\\(\\w+, \"([^\"]+)\""},
                             // Which optimizer keeps less is advice: a row for each step down.
                             Table{"optimizer",
                                   "analyzer/eager/optimizer/optimizer_table.cc",
                                   "\n    \\{\"([a-z0-9-]+)\", \"",
                                   {"none"},
                                   {"planner/advice/optimizer_ways.cc"}},
                             Table{"proposal", "planner/search/proposals.cc", "\n    \\{\"([a-z0-9-]+)\", P"},
                             Table{"method", "solver/methods/methods.cc", "\n    \\{\"([a-z0-9-]+)\", \"", {"none"}},
                             Table{"way", "planner/advice/ways.cc", "\n    \\{\"([a-z0-9-]+)\", P"},
                             Table{"format", "report/parts/formats.cc", "\n    \\{\"([a-z0-9-]+)\", \""},
                             Table{"assumption", "analyzer/assume/table/assumptions.cc", "\\.code = (Code::k\\w+)"}),
                         [](const testing::TestParamInfo<Table>& info) { return info.param.what; });

}  // namespace
}  // namespace onnx_mem
