// --strict: what is uncertain is a no.
#ifndef ONNX_MEM_CLI_ANSWERS_STRICT_H_
#define ONNX_MEM_CLI_ANSWERS_STRICT_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

// Whether a verdict is a yes; none is one too. With `strict`, "may fit" is a no.
bool IsYes(const std::optional<Verdict>& verdict, bool strict);

// Those that are warnings.
std::vector<Diagnostic> WarningsAmong(const std::vector<Diagnostic>& diagnostics);

// An error where there is a warning: of the first one's code, naming all.
absl::Status CheckStrict(const std::vector<Diagnostic>& warnings);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_STRICT_H_
