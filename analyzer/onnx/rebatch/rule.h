// Which inputs of an operator contain the batch after an export with a fixed batch, and how to change them to another.
//
// Constants contain a batch in two ways: in their contents (the target of a Reshape, the sizes of a Resize), which are
// edited, and in their size (a class token expanded to [2, 1, 768] before it was folded), which a rule requests of the
// operand and the operator that makes the operand has to grant. One table row per operator.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_RULE_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "analyzer/graph/dag.h"
#include "analyzer/onnx/rebatch/trace.h"

namespace onnx {
class NodeProto;
}  // namespace onnx

namespace onnx_mem {

// A value at a node: as exported, and how it is scaled so far.
struct Operand {
  bool present = false;      // false: an omitted optional input
  Shape base;                // known shapes only; else has_rank is false
  Traces traces;             // one per dim of base
  LiteralPtr base_contents;  // null where unknown
  LiteralPtr contents;       // at the probe, going forward
  bool baked = false;        // contents are known and the same at the probe: they do not follow the batch by themselves
};

struct BatchSite {
  const onnx::NodeProto& node;
  const std::vector<Operand>& inputs;
  const std::vector<Operand>& outputs;  // traces: unset going forward; what is wished for going backward
  const Variables& variables;
};

// Contents of input `input` follow: element i becomes base[i] scaled by elements[i].
struct ContentsEdit {
  int input = 0;
  std::vector<int64_t> base;
  Traces elements;
};

// What becomes of an operand's dim whose exported size is 1, where nothing in the file says that it was the batch's.
// (An Expand to 1, a Tile by 1 or a ConstantOfShape do say so: the framework expanded to the batch there.)
enum class Ones : uint8_t {
  kBroadcast,  // stays: the operator broadcasts it
  kConstant,   // a Constant node, which holds no parameter, is scaled; else it stays
  kExpand,     // a Constant node is scaled; a parameter is expanded right before the operator, as the framework does
  kScale,      // was made for the batch (a zero state, a list of indices): is scaled itself
};

// Input `input` should be scaled like this (in addition to what it is).
struct SizeWish {
  int input = 0;
  Traces dims;
  Ones ones = Ones::kExpand;
};

struct Ruling {
  std::vector<ContentsEdit> edits;
  std::vector<SizeWish> wishes;
  std::vector<SizeWish> alternatives;  // one of these is enough: operands that broadcast to the same dim
  bool understood = true;              // false: nobody knows how to scale this operator's output
};

// What must change at the inputs so that the operator fits its already scaled operands. Empty for operators without a
// rule: inference tells whether they fit.
Ruling FollowBatch(const BatchSite& site);

// What must change at the inputs so that output `output`, which no batched input reaches, is scaled as
// site.outputs[output].traces say. Not understood for operators without a rule.
Ruling GrantBatch(const BatchSite& site, int output);

// Whether `site`'s operator may drop a scaled dim without having lost it: it reduces over it, or reads only sizes.
bool MayDropBatch(const BatchSite& site);

// --- for the rows ---

struct BatchRow {
  std::string_view op;                            // of ai.onnx
  Ruling (*follow)(const BatchSite&);             // null: nothing at the inputs has to follow
  Ruling (*grant)(const BatchSite&, int output);  // null: its output cannot be made to follow
};
absl::Span<const BatchRow> BroadcastingRows();
absl::Span<const BatchRow> IndexingRows();
absl::Span<const BatchRow> LayoutRows();
absl::Span<const BatchRow> SizeRows();

// Input `i`; an absent one beyond the last.
const Operand& InputAt(const BatchSite& site, size_t i);
inline bool Known(const Operand& operand) { return operand.present && operand.base.has_rank; }
std::optional<int64_t> IntOf(const BatchSite& site, std::string_view attribute);
// Integer contents of input `i` as exported; null where unknown.
const std::vector<int64_t>* IntsAt(const BatchSite& site, size_t i);
// `axis` counted from the front, in [0, rank); nullopt where out of range.
std::optional<size_t> Axis(int64_t axis, size_t rank);
// How element `e` of the contents of `operand` follows by itself, by shape arithmetic in the file.
Trace FollowsAlready(const Operand& operand, size_t e, const Variables& variables);

Ruling NotUnderstood();
// Granting is possible where something below could be requested it.
Ruling OrNotUnderstood(Ruling ruling);
// Adds a wish for those dims of input `i` that are wanted and not yet scaled.
void WishFor(const BatchSite& site, size_t i, const Traces& wanted, Ruling& ruling, Ones ones = Ones::kExpand);
// Likewise for an operand that broadcasts: of several that are 1 where the output is 1, one is enough.
void AskAligned(const BatchSite& site, size_t i, const Traces& wanted, Ruling& ruling);
// `wanted` of a result of `shape`, at the dims of `operand` that correspond (aligned at the right, `skip` dims at the
// end left out) and have the same size.
Traces Aligned(const Operand& operand, const Dims& shape, const Traces& wanted, size_t skip);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_RULE_H_
