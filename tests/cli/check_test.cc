// What `check` says of the batch at which it tells effects.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/options/options.h"

namespace onnx_mem {
namespace {

using Words = std::vector<std::string>;

const char kLenet[] = ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.train.ts.op17.onnx";      // [batch, 1, 28, 28]
const char kTokens[] = ONNX_MEM_SOURCE_DIR "/testdata/models/bert_base.train.ts.op17.onnx";  // [batch, seq]
const char kFixed[] = ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.eval.ts.op13.b64.onnx";   // [64, 1, 28, 28]

std::string CheckOf(const std::string& model, const Words& words) {
  Words all = {"check", model};
  all.insert(all.end(), words.begin(), words.end());
  const ParsedOptions parsed = ParseOptions(all);
  EXPECT_TRUE(parsed.status.ok()) << parsed.status;
  const absl::StatusOr<CommandAnswer> answer = RunCheck(parsed.options);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? answer->text : "";
}

TEST(Check, NamesTheBatchAndWhereItComesFrom) {
  const struct {
    const char* model;
    Words words;
    const char* said;
  } kCases[] = {
      {kLenet, {}, "effects are those at batch 1, since none was given"},
      {kLenet, {"-b", "8"}, "effects are those at batch 8\n"},
      {kLenet, {"--dim", "batch=8"}, "effects are those at batch 8\n"},
      {kTokens, {"--dim", "seq=4"}, "effects are those at batch 1, since none was given"},
      {kTokens, {"--dim", "batch=2", "--dim", "seq=4"}, "effects are those at batch 2\n"},
      {kTokens, {"-b", "2", "--dim", "seq=4"}, "effects are those at batch 2\n"},
      {kFixed, {}, "effects are those at batch 64, the file's"},
  };
  for (const auto& c : kCases) {
    const std::string text = CheckOf(c.model, c.words);
    EXPECT_NE(text.find(c.said), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace onnx_mem
