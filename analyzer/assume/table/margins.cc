#include "analyzer/assume/table/margins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {

bool ListsTensors(const std::vector<std::string>& assumptions) {
  return std::find(assumptions.begin(), assumptions.end(), kTensorsListed) != assumptions.end();
}

std::string MarginText(bool lists_tensors, bool training) {
  const Margin margin = MarginOf(lists_tensors, training);
  return absl::StrCat("-", margin.less_percent, " to +", margin.more_percent, " %");
}

}  // namespace onnx_mem
