// Questions about drafted operators that rewrites ask when they look for a pattern, and the step that replaces it.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_MATCH_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_MATCH_H_

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// True if `names` has `op`.
template <class Names>
bool IsOneOf(const Names& names, const OpName& op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// The one reader of `id` if it is an operator `op`; else invalid.
NodeId OnlyReaderIf(const Draft& draft, TensorId id, const OpLiteral& op);

// The operand of a two-operand node that is not `one` (`one` itself if it is read twice); invalid for other nodes.
TensorId OtherOperand(const AnyNode& node, TensorId one);

// The Python number of add_scalar, mul_scalar ... ; nullopt for other operators.
std::optional<double> ScalarOf(const FrameworkNode& node);

// True if both ran in one module call and, where the file tells, in one call of a framework operator.
bool SameCall(const FrameworkNode& a, const FrameworkNode& b);

// Takes `nodes` out and puts `fused` in at `rank`, with the scope of the last of `nodes`. Gives its id.
NodeId Replace(Draft& draft, const NodeIds& nodes, FrameworkNode fused, Rank rank);

// Gives the readers of the first result of `id` a contiguous copy of it, made right after in the same call. For copies
// that no export shows. Gives the copy's node.
NodeId CopyResult(Draft& draft, NodeId id);

// Attribute of copies that code may leave out, 1 (assume/choices/copies.h).
inline constexpr std::string_view kMaybeCopied = "maybe";

// Attribute of operators that the order of two operands alone tells from a function of the framework, 1.
inline constexpr std::string_view kMaybeSwapped = "swapped";

// Puts `node` in the module call of `of`, on the same source lines and under its name.
void PutInCallOf(const FrameworkNode& of, FrameworkNode& node);

// An operator that runs there.
FrameworkNode MakeNodeInCallOf(const FrameworkNode& of, std::string_view op, TensorIds inputs, TensorIds outputs);

// What a slice along one axis by steps of 1 takes, [start, end) of `of`; `of` is invalid for any other node, or none.
struct Piece {
  TensorId of;
  int64_t axis = -1, start = 0, end = 0;
};
Piece ReadPiece(const Draft& draft, NodeId slice);

// An operator without attributes.
FrameworkNode MakeNode(std::string_view op, TensorIds inputs, TensorIds outputs);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_MATCH_H_
