// What a draft says of operators that write over their input.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_INPLACE_FORM_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_INPLACE_FORM_H_

#include <cstdint>
#include <string_view>

namespace onnx_mem {

// Value of the attribute "inplace" where the source line of the node says so (source_inplace.h), whatever the habits
// are; 0 where it says that the operator makes a new tensor.
inline constexpr int64_t kInPlaceBySource = 2;

// Whether the framework has an in-place form of an operator that ONNX has without, x.sigmoid_() or
// nn.ReLU(inplace=True).
bool HasInPlaceForm(std::string_view op);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_INPLACE_FORM_H_
