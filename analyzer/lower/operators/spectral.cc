// Fourier transforms. ONNX writes a complex tensor as a real one with a last dimension of 2, a real one with a last
// dimension of 1; the framework's complex tensors have the bytes of the former (analyzer/eager/operators/spectral.cc).
#include <algorithm>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

Dims WithoutLast(Dims dims) {
  if (!dims.empty()) dims.pop_back();
  return dims;
}

// A signal [..., 1] without its last dimension, a view.
TensorId RealSignal(Site& s) {
  const TensorId x = s.Materialized(0);
  const Dims dims = s.InShape(0).dims;
  if (dims.empty() || dims.back() != 1) return x;
  return s.EmitTemp("squeeze", {x}, WithoutLast(dims), s.InType(0));
}

}  // namespace

void LowerDft(Site& s) {
  const Dims from = s.InShape(0).dims, to = s.OutShape().dims;
  if (from.empty() || to.empty()) return s.Assume();
  if (from.back() == 1) {
    s.Emit("fft_r2c", {RealSignal(s)}, {s.Out(0)});
  } else if (to.back() == 1) {  // the inverse of a half spectrum is real
    const TensorId y = s.EmitTemp("fft_c2r", {s.Materialized(0)}, WithoutLast(to), s.OutType());
    s.Emit("unsqueeze", {y}, {s.Out(0)});
  } else {
    s.Emit("fft_c2c", {s.Materialized(0)}, {s.Out(0)});
  }
}

// signal, frame_step, window?, frame_length?. A window of ones, which exporters make up where the call has none, is not
// multiplied in.
void LowerStft(Site& s) {
  if (s.OutShape().rank() != 4) return s.Assume();
  const auto window = s.Has(2) ? s.Floats(2) : std::nullopt;
  const bool ones = window && std::all_of(window->begin(), window->end(), [](double v) { return v == 1.0; });
  TensorIds inputs = {RealSignal(s)};
  if (s.Has(2) && !ones) inputs.push_back(s.Materialized(2));
  int64_t frame = s.Has(2) ? s.InDim(2, 0) : 2 * (s.OutDim(0, 2) - 1);
  if (s.Has(3)) frame = static_cast<int64_t>(s.Number(3).value_or(static_cast<double>(frame)));
  s.Emit("stft", std::move(inputs), {s.Out(0)},
         {{"frame", frame}, {"hop", static_cast<int64_t>(s.Number(1).value_or(1.0))}});
}

}  // namespace onnx_mem
