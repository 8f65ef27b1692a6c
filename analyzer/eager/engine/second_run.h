// The second run of what is checkpointed: with gradients, in the middle of a backward that then continues as before.
// It enters the autocast context of the call anew, and what it casts is cached as long as it runs: torch/utils/
// checkpoint.py (_get_autocast_kwargs).
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_SECOND_RUN_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_SECOND_RUN_H_

#include <optional>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

class SecondRun {
 public:
  // `hook` takes part in it as in a call; may be null. `autocast`: of the call.
  SecondRun(Machine& m, SpanHook* hook, std::optional<DType> autocast)
      : m_(m),
        origin_(m.origin()),
        grad_enabled_(m.grad_enabled()),
        phase_(m.recorder().phase()),
        span_(m.span()),
        outer_autocast_(m.autocast()) {
    m_.SetGradEnabled(true);
    m_.recorder().SetRecompute(true);
    m_.SetSpan(hook);
    m_.SetAutocast(autocast);
  }
  ~SecondRun() {
    m_.SetAutocast(outer_autocast_);
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
  std::optional<DType> outer_autocast_;  // none, but within another second run
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_SECOND_RUN_H_
