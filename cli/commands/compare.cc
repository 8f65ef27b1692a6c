// onnx-mem compare A B [C...]: what changed from A to B, signed. A side is a model at a batch, or a report that was
// saved.
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/commands/commands.h"

namespace onnx_mem {

absl::StatusOr<CommandAnswer> RunCompare(const Options& options) {
  ASSIGN_OR_RETURN(CommandAnswer answer, AnswerCompare(options));
  if (!answer.text.empty()) return answer;  // a row to send
  return Shown(std::move(answer), options);
}

}  // namespace onnx_mem
