// Forward code with source lines, built statement by statement.
#ifndef ONNX_MEM_TESTS_ANALYZER_ASSUME_NAMES_TRACED_CODE_H_
#define ONNX_MEM_TESTS_ANALYZER_ASSUME_NAMES_TRACED_CODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/assume/names/source_names.h"
#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {

// Forward code of a model without a line for what happens inside of the modules that it calls.
class TracedCode : public LoweredProgram {
 public:
  // An operator in the code itself.
  TensorId Op(std::string_view op, TensorIds inputs, const std::string& line, int number = 1) {
    const TensorId id = Run(op, std::move(inputs));
    OnLines(id, {line}, number);
    return id;
  }
  // A module with one operator.
  TensorId Call(std::string_view module, TensorIds inputs, const std::string& line, int number = 1) {
    const TensorId id = Run("conv", std::move(inputs), module);
    OnLines(id, {line, "return F.conv2d("}, number);
    return id;
  }
  std::optional<int32_t> HeldUntil(TensorId id) const {
    const Calls calls(graph());
    return SourceNames(graph(), calls).HeldUntil(id);
  }
  std::optional<int32_t> HeldAtMostUntil(TensorId id) const {
    const Calls calls(graph());
    return SourceNames(graph(), calls).HeldAtMostUntil(id);
  }
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_TESTS_ANALYZER_ASSUME_NAMES_TRACED_CODE_H_
