// What the user is told besides the answer: an error that ended the run, or a note about what was assumed.
// Texts follow one form: what happened, why it matters, and a command that helps.
#ifndef ONNX_MEM_ANALYZER_GRAPH_DIAGNOSTIC_H_
#define ONNX_MEM_ANALYZER_GRAPH_DIAGNOSTIC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace onnx_mem {

enum class Severity { kNote, kWarning, kError };

struct Diagnostic {
  std::string code;  // stable id, kebab-case: "bn-folded"
  Severity severity = Severity::kNote;
  int64_t count = 1;               // how many nodes or tensors it is about
  std::string message = {};             // one sentence, without a final full stop
  std::vector<std::string> details = {};  // further lines, each already prefixed ("why: ...", "try: ...")
  std::optional<int64_t> bytes = {};    // bytes at stake, where known
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// An absl::Status that carries a Diagnostic (code, message, details) to whoever prints it.
absl::Status ErrorStatus(absl::StatusCode status_code, std::string_view code, std::string_view message,
                         std::vector<std::string> details = {});

// The Diagnostic carried by `status`; for a plain status, one with code "internal" and its message.
Diagnostic DiagnosticOf(const absl::Status& status);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_DIAGNOSTIC_H_
