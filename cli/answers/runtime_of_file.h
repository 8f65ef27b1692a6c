// What runs the models that a question is about: a file that was made for onnxruntime runs there, unless the user says
// something else.
#ifndef ONNX_MEM_CLI_ANSWERS_RUNTIME_OF_FILE_H_
#define ONNX_MEM_CLI_ANSWERS_RUNTIME_OF_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "cli/options/options.h"

namespace onnx_mem {

using Files = std::vector<std::shared_ptr<const ModelFile>>;

// `given`, in onnxruntime's sessions where one of `files` was made for them and the options leave it open. Several are
// compared in one runtime.
Options WithRuntimeOf(const Options& given, const Files& files);

// That it was so, and how to have PyTorch instead; nullopt where `used` runs what `given` does. `names`: of the files.
std::optional<Diagnostic> RuntimeNote(const Options& given, const Options& used, const Files& files,
                                      const std::vector<std::string>& names);

// An error where nothing of `file` can be trained.
absl::Status CheckTrainable(const ModelFile& file);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_RUNTIME_OF_FILE_H_
