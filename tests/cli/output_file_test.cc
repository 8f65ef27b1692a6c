#include "cli/host/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/whole_file.h"

namespace onnx_mem {
namespace {

class OutputFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_ = testing::TempDir() + "output_file_" + std::to_string(getpid());
};

TEST_F(OutputFile, ReplacesAFileAtOnceAndLeavesNothingBeside) {
  ASSERT_TRUE(WriteOutputFile(In("a"), "first", {}).ok());
  ASSERT_TRUE(WriteOutputFile(In("a"), "second", {}).ok());
  EXPECT_EQ(*ReadWholeFile(In("a")), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(OutputFile, NeverAnInputUnderWhateverName) {
  ASSERT_TRUE(WriteOutputFile(In("model"), "weights", {}).ok());
  std::filesystem::create_symlink(In("model"), In("link"));
  EXPECT_EQ(DiagnosticOf(WriteOutputFile(In("link"), "report", {In("model")})).code, Code::kIsInput);
  EXPECT_EQ(*ReadWholeFile(In("model")), "weights");
}

TEST_F(OutputFile, PipesNeitherBlockNorAreReplaced) {
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  EXPECT_EQ(DiagnosticOf(WriteOutputFile(In("pipe"), "report", {})).code, Code::kWriteFailed);
  EXPECT_EQ(DiagnosticOf(ReadWholeFile(In("pipe")).status()).code, Code::kUnreadable);
  EXPECT_EQ(DiagnosticOf(ReadWholeFile("/dev/zero").status()).code, Code::kUnreadable);
}

}  // namespace
}  // namespace onnx_mem
