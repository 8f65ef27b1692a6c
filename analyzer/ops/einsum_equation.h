// The equation of an einsum, of ONNX's operator and of torch.einsum alike.
#ifndef ONNX_MEM_ANALYZER_OPS_EINSUM_EQUATION_H_
#define ONNX_MEM_ANALYZER_OPS_EINSUM_EQUATION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

struct EinsumEquation {
  static constexpr char kDots = '.';  // one stands for an ellipsis

  std::vector<std::string> operands;  // a letter per dimension
  std::string output;                 // where the equation names none: the ellipsis, then what appears once
};

// nullopt where the text is no equation.
std::optional<EinsumEquation> ParseEinsum(std::string_view text);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_OPS_EINSUM_EQUATION_H_
