#include "cli/answers/strict.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {

bool IsYes(const std::optional<Verdict>& verdict, bool strict) {
  return verdict.value_or(Verdict::kFits) <= (strict ? Verdict::kFits : Verdict::kMayFit);
}

std::vector<Diagnostic> WarningsAmong(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> warnings;
  std::copy_if(diagnostics.begin(), diagnostics.end(), std::back_inserter(warnings),
               [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kWarning; });
  return warnings;
}

absl::Status CheckStrict(const std::vector<Diagnostic>& warnings) {
  if (warnings.empty()) return absl::OkStatus();
  std::vector<std::string> codes;
  for (const Diagnostic& warning : warnings) codes.emplace_back(NameOf(warning.code));
  const Diagnostic& first = warnings.front();
  std::vector<std::string> details = first.details;
  details.push_back(absl::StrFormat("why: --strict takes warnings for errors: %s", absl::StrJoin(codes, ", ")));
  return ErrorStatus(absl::StatusCode::kFailedPrecondition, first.code, first.message, std::move(details));
}

}  // namespace onnx_mem
