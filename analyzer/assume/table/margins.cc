#include "analyzer/assume/table/margins.h"

#include "absl/strings/str_cat.h"

namespace onnx_mem {

std::string MarginText(const Graph& file, bool training) {
  const Margin margin = file.signature.empty() ? (training ? kUnlistedTraining : kUnlistedInference)
                                               : (training ? kListedTraining : kListedInference);
  return absl::StrCat("-", margin.less_percent, " to +", margin.more_percent, " %");
}

}  // namespace onnx_mem
