// nn.MultiheadAttention projects q, k and v by one linear and lays them out anew (torch/nn/functional.py,
// _in_projection_packed): unflatten, unsqueeze, transpose, squeeze, contiguous. The last one is in no export, but all
// three views of the copy keep it.
//
//   linear -> reshape [T,B,3,E] -> unsqueeze 0 -> permute [3,1,2,0,4] -> squeeze 3 -> (contiguous) -> select 0, 1, 2
#include <algorithm>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool IsPackedProjection(const Draft& draft, NodeId squeeze) {
  const FrameworkNode& node = draft.node(squeeze);
  if (node.op != "squeeze") return false;
  const NodeId permute = draft.ProducerIf(node.inputs[0], "permute");
  if (!permute.valid() || IntsAttribute(draft.node(permute), "perm") != std::vector<int64_t>{3, 1, 2, 0, 4})
    return false;
  const NodeId unsqueeze = draft.ProducerIf(draft.node(permute).inputs[0], "unsqueeze");
  if (!unsqueeze.valid() || !draft.ProducerIf(draft.node(unsqueeze).inputs[0], "reshape").valid()) return false;
  const NodeIds& readers = draft.readers(node.outputs[0]);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return draft.node(reader).op == "select" && IntAttribute(draft.node(reader), "axis", -1) == 0;
  });
}

}  // namespace

int64_t InsertPackedProjectionCopy(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!IsPackedProjection(draft, id) || OnlyReaderIf(draft, draft.node(id).outputs[0], "contiguous").valid())
      continue;
    CopyResult(draft, id);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
