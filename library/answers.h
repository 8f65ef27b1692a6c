// The program's reports -> the plain values of the public header.
#ifndef ONNX_MEM_LIBRARY_ANSWERS_H_
#define ONNX_MEM_LIBRARY_ANSWERS_H_

#include <string_view>

#include "absl/status/status.h"
#include "cli/answers/answers.h"
#include "include/onnx_mem/onnx_mem.h"

namespace onnx_mem::api {

Error ErrorFrom(const absl::Status& status);

Analysis AnalysisFrom(onnx_mem::CommandAnswer answered);
Plans PlansFrom(onnx_mem::CommandAnswer answered);
Fitting FittingFrom(onnx_mem::CommandAnswer answered);
Comparison ComparisonFrom(onnx_mem::CommandAnswer answered);

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_LIBRARY_ANSWERS_H_
