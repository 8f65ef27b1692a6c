#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"

namespace onnx_mem {

absl::StatusOr<std::shared_ptr<const ModelFile>> ModelOf(const Options& options, const OpenModels& open,
                                                         size_t operand) {
  if (operand < open.size() && open[operand]) return open[operand];
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(options.operands[operand]));
  return std::make_shared<const ModelFile>(std::move(file));
}

}  // namespace onnx_mem
