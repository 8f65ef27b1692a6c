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
