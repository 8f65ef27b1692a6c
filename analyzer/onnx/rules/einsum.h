// The equation of an Einsum, and whether its operands fit it.
#ifndef ONNX_MEM_ANALYZER_ONNX_RULES_EINSUM_H_
#define ONNX_MEM_ANALYZER_ONNX_RULES_EINSUM_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/onnx/rules/rule.h"

namespace onnx_mem::rules {

struct EinsumEquation {
  std::vector<std::string> operands;  // a letter per dimension; one '.' stands for an ellipsis
  std::string output;                 // where the equation names none: the ellipsis, then what appears once
};

// nullopt where the text is no equation.
std::optional<EinsumEquation> ParseEinsum(std::string_view text);

// Why the operands do not fit the equation, as far as their sizes are known; empty where they do.
std::string EinsumFault(const fold::FoldCall& call);

}  // namespace onnx_mem::rules

#endif  // ONNX_MEM_ANALYZER_ONNX_RULES_EINSUM_H_
