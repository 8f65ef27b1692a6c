// Whether the operands of an Einsum fit its equation.
#ifndef ONNX_MEM_ANALYZER_ONNX_RULES_EINSUM_H_
#define ONNX_MEM_ANALYZER_ONNX_RULES_EINSUM_H_

#include <string>

#include "analyzer/onnx/rules/rule.h"

namespace onnx_mem::rules {

// Why the operands do not fit the equation, as far as their sizes are known; empty where they do.
std::string EinsumFault(const fold::FoldCall& call);

}  // namespace onnx_mem::rules

#endif  // ONNX_MEM_ANALYZER_ONNX_RULES_EINSUM_H_
