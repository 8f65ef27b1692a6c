#include "analyzer/graph/diagnostic.h"

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

TEST(DiagnosticTest, ErrorStatusCarriesCodeMessageAndDetails) {
  const absl::Status status =
      ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnboundDim, "dimension 'seq' has no value",
                  {"why: sizes depend on it", "try: --dim seq=128"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  Diagnostic expected;
  expected.code = Code::kUnboundDim;
  expected.severity = Severity::kError;
  expected.message = "dimension 'seq' has no value";
  expected.details = {"why: sizes depend on it", "try: --dim seq=128"};
  EXPECT_EQ(DiagnosticOf(status), expected);
}

TEST(DiagnosticTest, NoDetailsStayNone) {
  const Diagnostic diagnostic = DiagnosticOf(ErrorStatus(absl::StatusCode::kNotFound, Code::kNotFound, "no such file"));
  EXPECT_EQ(diagnostic.code, Code::kNotFound);
  EXPECT_TRUE(diagnostic.details.empty());
}

TEST(DiagnosticTest, APlainStatusIsABugOfOurs) {
  const Diagnostic diagnostic = DiagnosticOf(absl::InternalError("graph is inconsistent"));
  EXPECT_EQ(diagnostic.code, Code::kInternal);
  EXPECT_EQ(diagnostic.message, "graph is inconsistent");
}

TEST(DiagnosticTest, SurvivesTheWayThroughStatusMacros) {
  const absl::Status status = ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadShape, "too large");
  const absl::Status copy = status;
  EXPECT_EQ(DiagnosticOf(copy).code, Code::kBadShape);
}

}  // namespace
}  // namespace onnx_mem
