#include "analyzer/graph/diagnostic.h"

#include <algorithm>
#include <array>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kPayloadUrl = "onnx-mem/diagnostic";
constexpr char kLineSeparator = '\x1f';

struct CodeRow {
  Code code;
  std::string_view name;
  std::string_view meaning;
};

constexpr auto kCodes = std::to_array<CodeRow>({
#define CODE(id, name, meaning) {Code::id, name, meaning},
#include "analyzer/graph/diagnostic_codes.inc"
#undef CODE
});

Code CodeNamed(std::string_view name) {
  const auto* row = std::find_if(kCodes.begin(), kCodes.end(), [&](const CodeRow& r) { return r.name == name; });
  return row == kCodes.end() ? Code::kInternal : row->code;
}

}  // namespace

std::string_view NameOf(Code code) { return kCodes[static_cast<size_t>(code)].name; }
std::string_view MeaningOf(Code code) { return kCodes[static_cast<size_t>(code)].meaning; }

std::string CodeOf(const Diagnostic& diagnostic) {
  if (diagnostic.code == Code::kRewrite) return absl::StrCat("rewrite-", diagnostic.rewrite);
  return std::string(NameOf(diagnostic.code));
}

absl::Status ErrorStatus(absl::StatusCode status_code, Code code, std::string_view message,
                         std::vector<std::string> details) {
  absl::Status status(status_code, absl::string_view(message.data(), message.size()));
  std::string payload(NameOf(code));
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
    diagnostic.code = Code::kInternal;
    return diagnostic;
  }
  std::vector<std::string> parts = absl::StrSplit(std::string(*payload), kLineSeparator);
  diagnostic.code = CodeNamed(parts.front());
  diagnostic.details.assign(parts.begin() + 1, parts.end());
  return diagnostic;
}

}  // namespace onnx_mem
