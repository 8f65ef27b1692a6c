#include "cli/error_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace onnx_mem {
namespace {

TEST(ErrorText, HasWhatCodeAndWayOut) {
  const absl::Status status = ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnboundDim,
                                          "input 'x' has unknown dimensions: s77", {"try: --dim s77=512"});
  EXPECT_EQ(ErrorText(ErrorOf(status)),
            "onnx-mem: error: input 'x' has unknown dimensions: s77 [unbound-dim]\n"
            "  try: --dim s77=512\n");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kCannot);
}

// No line is wider, and a shell takes the parts of a command as one.
TEST(ErrorText, KeepsToTheWidth) {
  Diagnostic error;
  error.code = Code::kUnboundDim;
  error.severity = Severity::kWarning;
  error.message =
      "dimensions without a size: sequence_length of 'input_ids', past_sequence_length of 'past_key_values'";
  error.details = {
      "way out: a size for each of them, with --dim once for each, or the whole shape with --input NAME=2x3",
      "try: onnx-mem decoder.eval.ts.op17.onnx --gpu T4 -b 8 --dim past_sequence_length=496 "
      "--dim sequence_length=16   # or other lengths, as the model will be used"};
  EXPECT_EQ(ErrorText(error, 80),
            "onnx-mem: warning: dimensions without a size: sequence_length of 'input_ids',\n"
            "  past_sequence_length of 'past_key_values' [unbound-dim]\n"
            "  way out: a size for each of them, with --dim once for each, or the whole shape\n"
            "    with --input NAME=2x3\n"
            "  try: onnx-mem decoder.eval.ts.op17.onnx --gpu T4 -b 8 \\\n"
            "    --dim past_sequence_length=496 --dim sequence_length=16\n"
            "      # or other lengths, as the model will be used\n");
}

TEST(ErrorText, TellsWarningsFromErrors) {
  Diagnostic warning;
  warning.code = Code::kBnFolded;
  warning.severity = Severity::kWarning;
  warning.message = "folded";
  EXPECT_EQ(ErrorText(warning), "onnx-mem: warning: folded [bn-folded]\n");
}

TEST(ErrorText, DoesNotPrintControlCharacters) {
  const absl::Status status = ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel, "node '\x1b[2J\n'");
  EXPECT_EQ(ErrorText(ErrorOf(status)), "onnx-mem: error: node '?[2J?' [bad-model]\n");
}

TEST(ErrorOf, ABugAsksForAReport) {
  for (const absl::Status& status : {absl::InternalError("broken"), absl::UnknownError("odd"),
                                     ErrorStatus(absl::StatusCode::kInternal, Code::kBadModel, "broken")}) {
    const Diagnostic diagnostic = ErrorOf(status);
    EXPECT_EQ(diagnostic.code, Code::kInternal);
    ASSERT_EQ(diagnostic.details.size(), 2u);
    EXPECT_NE(diagnostic.details[1].find("report it"), std::string::npos);
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBug);
  }
}

TEST(ErrorOf, SuggestsAFileWithANearbyName) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "onnx_mem_error_text";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "resnet.onnx") << "x";
  const std::string missing = (folder / "resnet.onx").string();
  const absl::Status status =
      ErrorStatus(absl::StatusCode::kNotFound, Code::kNotFound, "cannot open '" + missing + "': no such file");
  ASSERT_EQ(ErrorOf(status).details.size(), 1u);
  EXPECT_EQ(ErrorOf(status).details[0], "did you mean: " + (folder / "resnet.onnx").string());
}

TEST(ErrorJson, IsAnObjectWithTheCode) {
  Diagnostic error;
  error.code = Code::kUnboundDim;
  error.severity = Severity::kError;
  error.message = "input \"x\"";
  error.details = {"try: --dim s77=512"};
  EXPECT_EQ(nlohmann::ordered_json::parse(ErrorJson(error, "analyze")).dump(),
            R"({"schema":"onnx-mem/1","command":"analyze","error":{"code":"unbound-dim","message":"input \"x\"",)"
            R"("details":["try: --dim s77=512"]}})");
}

}  // namespace
}  // namespace onnx_mem
