// Steps that pass through the parameters one by one and have no other form.
#include <algorithm>
#include <vector>

#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/eager/optimizer/optimizer_step.h"

namespace onnx_mem {
namespace {

constexpr int64_t kFloatBytes = 4;
constexpr int64_t kHalfBytes = 2;

// _zeropower_via_newtonschulz of torch/optim/_muon.py, which works in bfloat16.
void Orthogonalize(const TrainedParameter& p, StepLocals& locals) {
  constexpr int kIterations = 5;
  const int64_t side = std::min(p.dims[0], p.dims[1]), gram_bytes = side * side * kHalfBytes;
  locals.Bind("ortho_grad", p.elements * kHalfBytes);
  locals.Use(2 * kHalfBytes);  // the norm, and that clamped
  for (int i = 0; i < kIterations; ++i) {
    locals.Bind("gram_matrix", gram_bytes);
    locals.Bind("gram_update", gram_bytes);
    locals.Bind("ortho_grad", p.elements * kHalfBytes);
  }
  locals.Delete("gram_matrix");
  locals.Delete("gram_update");
}

// Muon's whole step, then AdamW's of all that Muon refuses. In step 1 Muon's state comes before its loop.
void MuonThen(StepFn adamw, Parameters parameters, const StepOptions& options, StepLocals& locals) {
  constexpr int64_t kStepScalarBytes = 4;
  std::vector<TrainedParameter> others;
  int64_t momenta = 0, moments = 0;
  for (const TrainedParameter& p : parameters) {
    (IsOfMuon(p) ? momenta : moments) += IsOfMuon(p) ? p.bytes : 2 * p.bytes + kStepScalarBytes;
    if (!IsOfMuon(p)) others.push_back(p);
  }
  if (options.first_step) locals.Keep(momenta);
  for (const TrainedParameter& p : parameters) {
    if (!IsOfMuon(p)) continue;
    locals.Bind("update", p.bytes);
    Orthogonalize(p, locals);
    locals.Rename("ortho_grad", "update");
  }
  locals.Delete("update");
  if (options.first_step) locals.Keep(moments);
  adamw(others, options, locals);
  locals.Use(0);
}

}  // namespace

bool IsOfMuon(const TrainedParameter& parameter) { return parameter.dims.size() == 2; }

void ForeachMuon(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  MuonThen(ForeachAdamW, parameters, options, locals);
}

void LoopMuon(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  MuonThen(LoopAdamW, parameters, options, locals);
}

// transformers/optimization.py, Adafactor.step, as the Trainer makes it: no first moment, a rate that is a number.
void LoopAdafactorFloat(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) {
    const bool half = IsHalf(p.dtype), factored = p.dims.size() > 1;
    const int64_t bytes = kFloatBytes * p.elements;
    const FactorBytes factors = FloatFactorsOf(p);
    locals.Delete("grad");
    if (half) locals.Bind("grad", bytes);
    if (options.first_step) locals.Keep(factored ? factors.rows + factors.columns : bytes);
    locals.Delete("p_data_fp32");
    if (half) locals.Bind("p_data_fp32", bytes);
    locals.Use(2 * kFloatBytes);  // its norm, and that by the root of its size, which is kept
    if (options.first_step) locals.Keep(kFloatBytes);
    locals.Bind("squares", bytes);
    locals.Bind("update", bytes);
    locals.Delete("squares");
    if (factored) {
      locals.Use(factors.rows);
      locals.Use(factors.columns);
      locals.Bind("row_mean", factors.mean);
      locals.Bind("r_factor", factors.rows);
      locals.Delete("row_mean");
      locals.Bind("c_factor", factors.columns);
    }
    locals.Bind("update", bytes);
    locals.Delete("r_factor");
    locals.Delete("c_factor");
    locals.Use(2 * kFloatBytes);  // the update's norm
    locals.Use(bytes);            // -update
  }
}

}  // namespace onnx_mem
