// Operators inside an autograd.Function have no history.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_WITHOUT_GRAD_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_WITHOUT_GRAD_H_

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Gradients are off until it dies; then as they were.
class WithoutGrad {
 public:
  explicit WithoutGrad(Machine& m) : m_(m), before_(m.grad_enabled()) { m.SetGradEnabled(false); }
  ~WithoutGrad() { m_.SetGradEnabled(before_); }
  WithoutGrad(const WithoutGrad&) = delete;
  WithoutGrad& operator=(const WithoutGrad&) = delete;

 private:
  Machine& m_;
  bool before_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_WITHOUT_GRAD_H_
