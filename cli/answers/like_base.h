// Whether the two sides of a comparison stand under the same assumptions, and how a model is brought under those of a
// saved report. A difference that comes from another optimizer is no change of the model.
#ifndef ONNX_MEM_CLI_ANSWERS_LIKE_BASE_H_
#define ONNX_MEM_CLI_ANSWERS_LIKE_BASE_H_

#include "absl/status/status.h"
#include "cli/options/options.h"
#include "report/compare/comparison.h"

namespace onnx_mem {

// Error other-assumptions where a side is a saved report and `head` assumes something else than `base`, or another
// version of the program wrote it; both values are named. What is of training alone is left out where a side has none.
absl::Status CheckSameAssumptions(const ComparedSide& base, const ComparedSide& head);

// Sets the options of `options` that `base` tells of, as if they had been typed. Error: other-assumptions for what no
// option says, such as a plan of nodes.
absl::Status TakeOver(const ComparedSide& base, Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_LIKE_BASE_H_
