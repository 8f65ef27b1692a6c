#include "analyzer/eager/spans/spans.h"

#include "analyzer/eager/spans/host_copies.h"

namespace onnx_mem::eager {

std::shared_ptr<SpanHook> HookOf(Executor& executor, const NodeRange& range, std::shared_ptr<OffloadOrder>& order) {
  if (range.reentrant) return MakeReentrant(executor, range);
  const bool moves = range.offload != Offload::kNo || range.moves_some();
  if (moves && order == nullptr) order = std::make_shared<OffloadOrder>();
  if (moves && !range.moves_some()) return MakeOffload(executor, range.offload, order);
  return MakeCheckpoint(executor, range, order);
}

}  // namespace onnx_mem::eager
