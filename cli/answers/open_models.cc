#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"
#include "analyzer/onnx/strict/onnx_checker.h"
#include "cli/answers/answers.h"

namespace onnx_mem {

absl::StatusOr<std::shared_ptr<const ModelFile>> ModelOf(const Options& options, const OpenModels& open,
                                                         size_t operand) {
  std::shared_ptr<const ModelFile> file = operand < open.size() ? open[operand] : nullptr;
  if (file == nullptr) {
    ASSIGN_OR_RETURN(file, OpenModel(options.operands[operand]));
  }
  if (options.strict) RETURN_IF_ERROR(CheckAsOnnxDoes(file->Annotated({}), options.operands[operand]));
  return file;
}

absl::StatusOr<std::shared_ptr<const ModelFile>> OpenModel(const std::string& path) {
  if (path != "-") {
    ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(path));
    return std::make_shared<const ModelFile>(std::move(file));
  }
  ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile("/dev/stdin"));
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Parse(std::move(bytes), "(standard input)"));
  return std::make_shared<const ModelFile>(std::move(file));
}

}  // namespace onnx_mem
