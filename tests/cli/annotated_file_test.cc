// onnx-mem MODEL -o copy.onnx: a model that viewers open, and this program too.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "cli/commands/commands.h"
#include "cli/options/options.h"

namespace onnx_mem {
namespace {

absl::StatusOr<CommandAnswer> RunOn(const std::vector<std::string>& words) {
  const ParsedOptions parsed = ParseOptions(words);
  return parsed.status.ok() ? CommandNamed(parsed.options.command)->run(parsed.options) : parsed.status;
}

TEST(AnnotatedFile, IsTheSameGraphWithBytesOnItsNodes) {
  const std::string model = ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.train.ts.op17.onnx";
  const std::string copy = testing::TempDir() + "/annotated.onnx";
  ASSERT_TRUE(RunOn({model, "-b", "64", "-o", copy}).ok());
  const auto before = ModelFile::Open(model), after = ModelFile::Open(copy);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(DumpGraph(after->Import({})->graph), DumpGraph(before->Import({})->graph));
  std::ostringstream bytes;
  bytes << std::ifstream(copy, std::ios::binary).rdbuf();
  // 64 x 6 x 28 x 28 floats, as --by tensor tells of the first convolution.
  EXPECT_NE(bytes.str().find("makes 1.15 MiB"), std::string::npos);
  EXPECT_NE(bytes.str().find("which is the peak"), std::string::npos);
  EXPECT_NE(bytes.str().find("onnx_mem.output_bytes"), std::string::npos);
}

TEST(AnnotatedFile, NeverTakesThePlaceOfItsModel) {
  const std::string model = testing::TempDir() + "/annotated_input.onnx";
  std::filesystem::copy_file(ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.train.ts.op17.onnx", model,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(DiagnosticOf(RunOn({model, "-o", model}).status()).code, Code::kIsInput);
}

TEST(AnnotatedFile, WantsAGraph) {
  const std::string record = ONNX_MEM_SOURCE_DIR "/testdata/records/resnet18.eager";
  const std::string copy = testing::TempDir() + "/of_record.onnx";
  const absl::Status status = RunOn({record, "-o", copy}).status();
  EXPECT_EQ(DiagnosticOf(status).code, Code::kUsage);
  EXPECT_FALSE(std::filesystem::exists(copy));
}

}  // namespace
}  // namespace onnx_mem
