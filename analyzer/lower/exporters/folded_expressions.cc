// dynamo's exporter computes what is made of stored tensors alone and names the result after the call: a training step
// computes it. So it is no buffer, but a new tensor where it is read, freed when it has been: sub[96, 96] (positions),
// cos_1[1, 96, 32] (a rotary embedding).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool IsComputed(const Draft& draft, TensorId id) {
  constexpr int64_t kFewest = 2;  // one element is a number of the code
  return !FoldedCall(draft.tensor(id).name).empty() && draft.kind(id) == TensorKind::kBuffer &&
         !draft.producer(id).valid() && !draft.IsOutput(id) && !draft.readers(id).empty() &&
         NumElements(draft.tensor(id).shape).value_or(0) >= kFewest;
}

}  // namespace

int64_t ComputeFoldedExpressions(Lowering& lowering) {
  if (!lowering.run.training) return 0;
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (TensorId id : lowering.source.initializers) {
    if (!IsComputed(draft, id)) continue;
    const NodeIds& readers = draft.readers(id);
    const NodeId first = *std::min_element(readers.begin(), readers.end(),
                                           [&](NodeId a, NodeId b) { return draft.rank(a) < draft.rank(b); });
    const Tensor stored = draft.tensor(id);
    const TensorId made = draft.NewTensor(absl::StrCat(stored.name, "/computed"), stored.dtype, stored.shape.dims);
    FrameworkNode full = MakeNodeInCallOf(draft.node(first), "full", {}, {made});
    full.name = stored.name;
    Rank rank = draft.rank(first);
    --rank.place;
    draft.Add(std::move(full), rank);
    draft.ReplaceReaders(id, made);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
