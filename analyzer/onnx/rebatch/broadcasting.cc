// Operators that broadcast their operands: sizes beside a scaled dim have to be scaled or 1.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "analyzer/onnx/rebatch/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// How the result of broadcasting all inputs is scaled, by the operands that are scaled already.
Traces BroadcastTraces(const BatchSite& site, const Dims& shape, size_t skip) {
  Traces traces(shape.size());
  for (const Operand& operand : site.inputs) {
    if (!Known(operand)) continue;
    for (size_t back = skip + 1; back <= std::min(operand.base.rank(), shape.size()); ++back) {
      const Trace& trace = operand.traces[operand.base.rank() - back];
      if (trace.any()) traces[shape.size() - back] = trace;
    }
  }
  return traces;
}

Ruling FollowBroadcast(const BatchSite& site, size_t skip) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  if (!Known(out)) return ruling;
  const Traces traces = BroadcastTraces(site, out.base.dims, skip);
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (!Known(site.inputs[i])) continue;
    WishFor(site, i, Aligned(site.inputs[i], out.base.dims, traces, skip), ruling, Ones::kBroadcast);
  }
  return ruling;
}
Ruling FollowElementwise(const BatchSite& site) { return FollowBroadcast(site, 0); }
Ruling FollowMatMul(const BatchSite& site) { return FollowBroadcast(site, 2); }

Ruling GrantElementwise(const BatchSite& site, int output) {
  Ruling ruling;
  const Operand& out = site.outputs[static_cast<size_t>(output)];
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (Known(site.inputs[i])) AskAligned(site, i, Aligned(site.inputs[i], out.base.dims, out.traces, 0), ruling);
  }
  return OrNotUnderstood(std::move(ruling));
}

// Rows come from the first factor, columns from the second, leading dims from either.
Ruling GrantMatMul(const BatchSite& site, int) {
  const Operand &a = InputAt(site, 0), &b = InputAt(site, 1), &out = site.outputs[0];
  if (!Known(a) || !Known(b) || a.base.rank() < 2 || b.base.rank() < 2) return NotUnderstood();
  const size_t rank = out.base.rank();
  Ruling ruling;
  Traces of_a = Aligned(a, out.base.dims, out.traces, 2), of_b = Aligned(b, out.base.dims, out.traces, 2);
  of_a[a.base.rank() - 2] = out.traces[rank - 2];
  of_b[b.base.rank() - 1] = out.traces[rank - 1];
  AskAligned(site, 0, of_a, ruling);
  AskAligned(site, 1, of_b, ruling);
  return OrNotUnderstood(std::move(ruling));
}

Ruling GrantGemm(const BatchSite& site, int) {
  const Operand &a = InputAt(site, 0), &out = site.outputs[0];
  if (!Known(a) || a.base.rank() != 2 || out.traces[1].any()) return NotUnderstood();
  Traces of_a(2);
  of_a[IntOf(site, "transA").value_or(0) != 0 ? 1 : 0] = out.traces[0];
  Ruling ruling;
  AskAligned(site, 0, of_a, ruling);
  return OrNotUnderstood(std::move(ruling));
}

}  // namespace

absl::Span<const BatchRow> BroadcastingRows() {
  static constexpr auto kRows = std::to_array<BatchRow>({
      {"Abs", nullptr, GrantElementwise},
      {"Add", FollowElementwise, GrantElementwise},
      {"And", FollowElementwise, GrantElementwise},
      {"Cast", nullptr, GrantElementwise},
      {"CastLike", nullptr, GrantElementwise},
      {"Ceil", nullptr, GrantElementwise},
      {"Clip", nullptr, GrantElementwise},
      {"Cos", nullptr, GrantElementwise},
      {"Div", FollowElementwise, GrantElementwise},
      {"Dropout", nullptr, GrantElementwise},
      {"Elu", nullptr, GrantElementwise},
      {"Equal", FollowElementwise, GrantElementwise},
      {"Erf", nullptr, GrantElementwise},
      {"Exp", nullptr, GrantElementwise},
      {"Floor", nullptr, GrantElementwise},
      {"Gelu", nullptr, GrantElementwise},
      {"Gemm", nullptr, GrantGemm},
      {"Greater", FollowElementwise, GrantElementwise},
      {"GreaterOrEqual", FollowElementwise, GrantElementwise},
      {"HardSigmoid", nullptr, GrantElementwise},
      {"HardSwish", nullptr, GrantElementwise},
      {"Identity", nullptr, GrantElementwise},
      {"IsInf", nullptr, GrantElementwise},
      {"IsNaN", nullptr, GrantElementwise},
      {"LeakyRelu", nullptr, GrantElementwise},
      {"Less", FollowElementwise, GrantElementwise},
      {"LessOrEqual", FollowElementwise, GrantElementwise},
      {"Log", nullptr, GrantElementwise},
      {"LogSoftmax", nullptr, GrantElementwise},
      {"MatMul", FollowMatMul, GrantMatMul},
      {"Max", FollowElementwise, GrantElementwise},
      {"Mean", FollowElementwise, GrantElementwise},
      {"Min", FollowElementwise, GrantElementwise},
      {"Mish", nullptr, GrantElementwise},
      {"Mod", FollowElementwise, GrantElementwise},
      {"Mul", FollowElementwise, GrantElementwise},
      {"Neg", nullptr, GrantElementwise},
      {"Not", nullptr, GrantElementwise},
      {"Or", FollowElementwise, GrantElementwise},
      {"PRelu", FollowElementwise, GrantElementwise},
      {"Pow", FollowElementwise, GrantElementwise},
      {"Reciprocal", nullptr, GrantElementwise},
      {"Relu", nullptr, GrantElementwise},
      {"Round", nullptr, GrantElementwise},
      {"Selu", nullptr, GrantElementwise},
      {"Sigmoid", nullptr, GrantElementwise},
      {"Sign", nullptr, GrantElementwise},
      {"Sin", nullptr, GrantElementwise},
      {"Softmax", nullptr, GrantElementwise},
      {"Softplus", nullptr, GrantElementwise},
      {"Softsign", nullptr, GrantElementwise},
      {"Sqrt", nullptr, GrantElementwise},
      {"Sub", FollowElementwise, GrantElementwise},
      {"Sum", FollowElementwise, GrantElementwise},
      {"Tanh", nullptr, GrantElementwise},
      {"Trilu", nullptr, GrantElementwise},
      {"Where", FollowElementwise, GrantElementwise},
      {"Xor", FollowElementwise, GrantElementwise},
  });
  return kRows;
}

}  // namespace onnx_mem
