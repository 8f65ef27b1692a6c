// onnx-mem fit MODEL: the largest batch that fits a card, and what makes a batch fit that does not.
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/commands/commands.h"

namespace onnx_mem {

absl::StatusOr<CommandAnswer> RunFit(const Options& options) {
  ASSIGN_OR_RETURN(CommandAnswer answer, AnswerFit(options));
  return Shown(std::move(answer), options);
}

}  // namespace onnx_mem
