// The calls of a whole forward (run/region_calls.h), seen from outside: nothing of what runs changes.
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_CALL_TRACER_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_CALL_TRACER_H_

#include <optional>
#include <span>
#include <string_view>

#include "analyzer/eager/spans/call_recorder.h"
#include "analyzer/eager/spans/span_hook.h"

namespace onnx_mem::eager {

class CallTracer : public SpanHook {
 public:
  CallTracer(Machine& machine, const Lowered& lowered) : calls_(machine, lowered) {}

  bool watches() const override { return true; }
  void BeforeNode(int32_t index) override { calls_.BeginNode(index); }
  void AfterOperator(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs) override {
    calls_.EndNode(inputs, outputs);
  }
  bool OnDispatch(std::string_view op) override {
    calls_.Dispatch(op);
    return true;
  }
  void OnOutput(int output, const TensorRef& t) override { calls_.AddOutput(output, t); }
  std::optional<SavedTensor> OnSave(int32_t /*node*/, const TensorRef& t) override {
    calls_.Save(t);
    return std::nullopt;
  }

  CallRecorder& calls() { return calls_; }

 private:
  CallRecorder calls_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_CALL_TRACER_H_
