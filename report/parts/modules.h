// Which layer a buffer belongs to. What a step made names its module itself; parameters and what the optimizer keeps
// for them go by the parameter's name: "layer1.conv.weight" and "layer1.conv.weight.exp_avg" to module layer1.conv.
// Operators outside all modules (a functional call in the model's own forward, or a file that tells no modules) are
// layers by the name of their node.
#ifndef ONNX_MEM_REPORT_PARTS_MODULES_H_
#define ONNX_MEM_REPORT_PARTS_MODULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/memory/made_by_a_step.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// The label of what belongs to no module.
inline constexpr std::string_view kNoModule = "(no module)";

class Modules {
 public:
  explicit Modules(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      of_parameter_.emplace(parameter.name, parameter.module);
      if (parameter.file_name != parameter.name) file_names_.emplace(parameter.name, parameter.file_name);
    }
  }

  // What the file calls a parameter that is shown under its path in the module; "" for all else.
  const std::string& FileNameOf(const Buffer& buffer) const {
    static const std::string* const kNone = new std::string();
    const auto found = file_names_.find(buffer.name.str());
    return buffer.category == Category::kParameters && found != file_names_.end() ? found->second : *kNone;
  }

  // The module, or the node where there is none; "" for neither (inputs, the loss).
  std::string LayerOf(const MemoryProgram& program, const Buffer& buffer) const {
    std::string module = Of(buffer);
    if (!module.empty() || !MadeByAStep(buffer) || !program.steps.contains(buffer.begin)) return module;
    return program.steps[buffer.begin].node;
  }

  // The module; "" for none, and for the root module.
  std::string Of(const Buffer& buffer) const {
    if (!buffer.module.empty()) return buffer.module;
    if (const auto found = of_parameter_.find(buffer.name.str()); found != of_parameter_.end()) return found->second;
    const size_t dot = buffer.name.str().rfind('.');
    if (buffer.category != Category::kOptimizerState || dot == std::string::npos) return "";
    const auto found = of_parameter_.find(buffer.name.str().substr(0, dot));
    return found != of_parameter_.end() ? found->second : "";
  }

 private:
  absl::flat_hash_map<std::string, std::string> of_parameter_, file_names_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_MODULES_H_
