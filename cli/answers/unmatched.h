// Options that name parts of the model, checked against it: a name with a slip would change nothing and leave a wrong
// number without a word.
#ifndef ONNX_MEM_CLI_ANSWERS_UNMATCHED_H_
#define ONNX_MEM_CLI_ANSWERS_UNMATCHED_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

// Errors: unknown-tensor (--hold) and unknown-input (--requires-grad), with suggestions.
absl::Status CheckNames(const Run& run, const Graph& graph);

// Errors: no-match for a pattern of --freeze that matches a parameter of none of the models, with the nearest names.
// What it was to freeze would be trained, without a word.
absl::Status CheckFreeze(const Run& run, std::span<const std::vector<Parameter>> models);
inline absl::Status CheckFreeze(const Run& run, const Analysis& analysis) {
  return CheckFreeze(run, std::span(&analysis.parameters, 1));
}

// A warning for each other pattern that matches nothing: --inplace over nodes and modules and, where training was
// analyzed, --checkpointed over modules. Warnings only, since one command line may serve several models.
std::vector<Diagnostic> UnmatchedPatterns(const Run& run, const Analysis& analysis);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_UNMATCHED_H_
