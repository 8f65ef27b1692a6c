// onnx-mem fit MODEL: the largest batch that fits a card, and what makes a batch fit that does not.
#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/commands/commands.h"

namespace onnx_mem {

absl::StatusOr<Answer> RunFit(const Options& options) {
  ASSIGN_OR_RETURN(const Answered answered, AnswerFit(options));
  return AnswerOf(answered, options);
}

}  // namespace onnx_mem
