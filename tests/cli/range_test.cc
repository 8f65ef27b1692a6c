// The range of a figure taken apart: what moves it adds up to both of its ends, and nothing moves it the other way.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/options/options.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

Json Analyzed(const std::string& model, const std::vector<std::string>& more) {
  std::vector<std::string> words = {model, "-v", "-f", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const ParsedOptions parsed = ParseOptions(words);
  EXPECT_TRUE(parsed.status.ok());
  const absl::StatusOr<CommandAnswer> answer = CommandNamed(parsed.options.command)->run(parsed.options);
  return answer.ok() ? Json::parse(answer->text) : Json();
}

int Ranges(const Json& report) {
  int ranges = 0;
  for (const char* part : {"training", "inference"}) {
    const Json& figures = report["runs"][0][part];
    if (!figures.is_object()) continue;
    int64_t less = 0, more = 0;
    for (const Json& row : report.value("range", Json::array())) {
      if (row["part"] != part) continue;
      EXPECT_GE(row["less_bytes"].get<int64_t>(), 0) << row;
      EXPECT_GE(row["more_bytes"].get<int64_t>(), 0) << row;
      EXPECT_NE(row["settled_by"], "");
      less += row["less_bytes"].get<int64_t>();
      more += row["more_bytes"].get<int64_t>();
      ++ranges;
    }
    const int64_t common = figures["device_bytes"].get<int64_t>();
    EXPECT_EQ(common - less, figures["device_interval_bytes"][0].get<int64_t>()) << part;
    EXPECT_EQ(common + more, figures["device_interval_bytes"][1].get<int64_t>()) << part;
  }
  return ranges;
}

TEST(Range, AddsUpForEveryModelAndDevice) {
  int ranges = 0;
  for (const auto& file : std::filesystem::directory_iterator(ONNX_MEM_SOURCE_DIR "/testdata/models")) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path().filename());
    for (const std::vector<std::string>& where :
         {std::vector<std::string>{}, {"--for", "onnxruntime"}, {"--for", "onnxruntime", "--device", "cpu"}}) {
      const Json report = Analyzed(file.path(), where);
      if (report.is_object() && report["runs"].size() == 1) ranges += Ranges(report);
    }
  }
  EXPECT_GT(ranges, 300);
}

}  // namespace
}  // namespace onnx_mem
