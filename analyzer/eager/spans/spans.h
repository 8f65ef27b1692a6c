// The kinds of spans: which hook a call gets.
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_SPANS_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_SPANS_H_

#include <memory>

#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/spans/span_hook.h"

namespace onnx_mem::eager {

// The hook of a call that a plan, or the model's own code, has put something around. Calls come in the order in which
// they run, each with what the one before it left in `order`.
std::shared_ptr<SpanHook> HookOf(Executor& executor, const NodeRange& range, std::shared_ptr<OffloadOrder>& order);

std::shared_ptr<SpanHook> MakeCheckpoint(Executor& executor, const NodeRange& range,
                                         std::shared_ptr<OffloadOrder> order);
std::shared_ptr<SpanHook> MakeReentrant(Executor& executor, const NodeRange& range);
std::shared_ptr<SpanHook> MakeOffload(Executor& executor, Offload mode, std::shared_ptr<OffloadOrder> order);
std::shared_ptr<SpanHook> MakeFunction(Executor& executor, const UserFunction& function);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_SPANS_H_
