// One optimizer.step() re-enacted on tensors without data: parameters and their gradients -> the bytes that the step
// needs beside state, gradients and parameters. It follows the local variables of PyTorch's loops (torch/optim/*.py):
// a variable's old value dies only when the new one exists, and in the for-loop form one parameter's values live on
// while the next one's are made.
//
// Worked example, Adam one parameter after another: denom = (exp_avg_sq.sqrt() / c).add_(eps) needs the square root,
// the quotient and the previous parameter's denom at once.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_STEP_H_
#define ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_STEP_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {

struct TrainedParameter;

// The tensors that local variables of a step hold. A variable holds one tensor, or a list with one per parameter.
class StepLocals {
 public:
  // `variable = ...`: the new tensors are made while the old ones live.
  void Bind(std::string_view variable, std::vector<int64_t> bytes);
  void Bind(std::string_view variable, int64_t bytes) { Bind(variable, std::vector<int64_t>{bytes}); }
  void Delete(std::string_view variable);
  // `to = from` where both name the same tensors from now on, and only `to` is bound anew.
  void Rename(std::string_view from, std::string_view to);
  void Use(int64_t bytes);                            // lives for one expression
  void Keep(int64_t bytes) { kept_bytes_ += bytes; }  // becomes state within the loop

  // What made the peak: the temporaries that were alive at the moment at which they and kept state were most.
  const std::vector<int64_t>& peak_tensors() const { return peak_tensors_; }
  int64_t peak_bytes() const { return peak_bytes_; }  // kept state included
  int64_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Variable {
    std::string_view name;
    std::vector<int64_t> bytes;
  };
  void See(absl::Span<const int64_t> fresh);

  std::vector<Variable> variables_;
  int64_t kept_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  std::vector<int64_t> peak_tensors_;
};

struct StepOptions {
  bool weight_decay = false;  // added to the gradients, which are copied for it (AdamW's own is in place)
  bool first_step = false;
};
using Parameters = absl::Span<const TrainedParameter>;
using StepFn = void (*)(Parameters, const StepOptions&, StepLocals&);

void NoTemporaries(Parameters, const StepOptions&, StepLocals&);

// Lists of all parameters, one kernel per list (foreach=True).
void ForeachSgd(Parameters, const StepOptions&, StepLocals&);
void ForeachMomentum(Parameters, const StepOptions&, StepLocals&);
void ForeachAdam(Parameters, const StepOptions&, StepLocals&);
void ForeachAdamW(Parameters, const StepOptions&, StepLocals&);
void ForeachRmsProp(Parameters, const StepOptions&, StepLocals&);
void ForeachAdagrad(Parameters, const StepOptions&, StepLocals&);
void ForeachAdafactor(Parameters, const StepOptions&, StepLocals&);

// One parameter after another (foreach=False).
void LoopSgd(Parameters, const StepOptions&, StepLocals&);
void LoopMomentum(Parameters, const StepOptions&, StepLocals&);
void LoopNesterov(Parameters, const StepOptions&, StepLocals&);
void LoopAdam(Parameters, const StepOptions&, StepLocals&);
void LoopAdamW(Parameters, const StepOptions&, StepLocals&);
void LoopRootOfSquares(Parameters, const StepOptions&, StepLocals&);  // RMSprop, Adagrad
void LoopAdafactor(Parameters, const StepOptions&, StepLocals&);

// Those that have one form (more_steps.cc); Muon's is followed by AdamW's step in either.
void LoopAdafactorFloat(Parameters, const StepOptions&, StepLocals&);  // transformers
void ForeachMuon(Parameters, const StepOptions&, StepLocals&);
void LoopMuon(Parameters, const StepOptions&, StepLocals&);
bool IsOfMuon(const TrainedParameter& parameter);

// Adafactor's factors of a matrix: one number per row, one per column, one in all (over the last two dimensions).
struct FactorBytes {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t mean = 0;
};
FactorBytes FactorsOf(const TrainedParameter& parameter);
FactorBytes FloatFactorsOf(const TrainedParameter& parameter);  // each number in float32

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_STEP_H_
