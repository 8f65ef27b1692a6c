#include "analyzer/graph/diagnostic.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kPayloadUrl = "onnx-mem/diagnostic";
constexpr char kLineSeparator = '\x1f';

}  // namespace

absl::Status ErrorStatus(absl::StatusCode status_code, std::string_view code, std::string_view message,
                         std::vector<std::string> details) {
  absl::Status status(status_code, absl::string_view(message.data(), message.size()));
  std::string payload(code);
  for (const std::string& line : details) absl::StrAppend(&payload, std::string(1, kLineSeparator), line);
  status.SetPayload(absl::string_view(kPayloadUrl.data(), kPayloadUrl.size()), absl::Cord(payload));
  return status;
}

Diagnostic DiagnosticOf(const absl::Status& status) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kError;
  diagnostic.message = std::string(status.message());
  auto payload = status.GetPayload(absl::string_view(kPayloadUrl.data(), kPayloadUrl.size()));
  if (!payload) {
    diagnostic.code = "internal";
    return diagnostic;
  }
  std::vector<std::string> parts = absl::StrSplit(std::string(*payload), kLineSeparator);
  diagnostic.code = parts.front();
  diagnostic.details.assign(parts.begin() + 1, parts.end());
  return diagnostic;
}

}  // namespace onnx_mem
