// What the source line of an operator says of writing in place.
//
//   out += identity              the sum writes over `out`
//   x = F.relu(x, inplace=True)  and so does the ReLU
//   x = x + y; F.relu(x)         a new tensor
//   F.relu(x, inplace=self.inplace)   not reported: the flag of a module
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_SOURCE_INPLACE_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_SOURCE_INPLACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// Value of the attribute "inplace" where the source line of the node says so, whatever is assumed elsewhere; 0
// where it says that the operator makes a new tensor.
inline constexpr int64_t kInPlaceBySource = 2;

class SourceInPlace {
 public:
  // `draft` must outlive this.
  explicit SourceInPlace(const Draft& draft) : draft_(draft) {}
  // nullopt where the node has no line, or one that does not tell. What is reported is also possible: an operator whose
  // operand is read later, or that no operator made, makes a new tensor.
  std::optional<bool> Writes(NodeId id);
  // Whether the line, `out += identity`, writes over the second operand: the first was not made by a statement that
  // binds that name, the second was. Exporters put the name first; a tool may have swapped the two.
  bool NamesSecond(NodeId id);

 private:
  std::optional<bool> Reads(NodeId id);
  std::optional<bool> ReadsArithmetic(const FrameworkNode& node, const SourceLine& line, char sign,
                                      std::string_view function);
  bool IsOnTheSameLine(const FrameworkNode& node, const FrameworkNode& other);
  bool IsBoundTo(const std::string& name, TensorId id, const FrameworkNode& node);

  const Draft& draft_;
  SourceTraceReader traces_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_SOURCE_INPLACE_H_
