// The second run of what is checkpointed: with gradients, in the middle of a backward that then continues as before.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_SECOND_RUN_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_SECOND_RUN_H_

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

class SecondRun {
 public:
  // `hook` takes part in it as in a call; may be null.
  SecondRun(Machine& m, SpanHook* hook)
      : m_(m), origin_(m.origin()), grad_enabled_(m.grad_enabled()), phase_(m.recorder().phase()), span_(m.span()) {
    m_.SetGradEnabled(true);
    m_.recorder().SetRecompute(true);
    m_.SetSpan(hook);
  }
  ~SecondRun() {
    m_.SetSpan(span_);
    m_.recorder().SetRecompute(false);
    m_.recorder().SetPhase(phase_);
    m_.SetGradEnabled(grad_enabled_);
    m_.SetOrigin(origin_);
  }
  SecondRun(const SecondRun&) = delete;
  SecondRun& operator=(const SecondRun&) = delete;

 private:
  Machine& m_;
  const FrameworkNode* origin_;
  bool grad_enabled_;
  Phase phase_;
  SpanHook* span_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_SECOND_RUN_H_
