// Which module a buffer belongs to. What a step made names its module itself; parameters and what the optimizer keeps
// for them go by the parameter's name: "layer1.conv.weight" and "layer1.conv.weight.exp_avg" to module layer1.conv.
#ifndef ONNX_MEM_CLI_REPORT_MODULES_H_
#define ONNX_MEM_CLI_REPORT_MODULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/enact.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// The label of what belongs to no module.
inline constexpr std::string_view kNoModule = "(no module)";

class Modules {
 public:
  explicit Modules(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) of_parameter_.emplace(parameter.name, parameter.module);
  }

  // "" for none, and for the root module.
  std::string Of(const Buffer& buffer) const {
    if (!buffer.module.empty()) return buffer.module;
    if (const auto found = of_parameter_.find(buffer.name); found != of_parameter_.end()) return found->second;
    const size_t dot = buffer.name.rfind('.');
    if (buffer.category != Category::kOptimizerState || dot == std::string::npos) return "";
    const auto found = of_parameter_.find(buffer.name.substr(0, dot));
    return found != of_parameter_.end() ? found->second : "";
  }

 private:
  absl::flat_hash_map<std::string, std::string> of_parameter_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_MODULES_H_
