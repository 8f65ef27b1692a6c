#include "tests/solver/chain_graph.h"

#include "absl/strings/str_cat.h"
#include "tests/solver/graph_builder.h"

namespace onnx_mem {

StepGraph GraphOfChain(const ChainArrays& arrays) {
  GraphBuilder builder;
  builder.graph.base_bytes = arrays.base;
  const auto n = static_cast<int>(arrays.a.size());
  const StepTensorId input = builder.Input();
  std::vector<StepTensorId> plain;
  std::vector<StepTensorId> saved;
  std::vector<StepTensorId> gradient = {builder.Gradient(0)};
  for (int l = 0; l < n; ++l) {
    plain.push_back(builder.Activation(arrays.a[l]));
    saved.push_back(builder.Activation(arrays.S[l]));
    if (l + 1 < n) gradient.push_back(builder.Gradient(arrays.g[l]));
  }
  const auto block_input = [&](int l) {
    return l == 0 ? std::vector<StepTensorId>{input} : std::vector<StepTensorId>{plain[l - 1], saved[l - 1]};
  };
  for (int l = 0; l < n; ++l) {
    builder.Forward(arrays.f[l], {block_input(l)}, {plain[l]}, arrays.of[l], absl::StrCat("F", l));
    builder.Forward(arrays.f[l], {block_input(l)}, {saved[l]}, arrays.oe[l], absl::StrCat("F", l));
  }
  for (int l = n; l-- > 0;) {
    GraphBuilder::Inputs inputs = {block_input(l), {saved[l]}};
    if (l + 1 < n) inputs.push_back({gradient[l + 1]});
    builder.Backward(arrays.b[l], inputs, {gradient[l]}, arrays.ob[l]);
  }
  return builder.graph;
}

ChainArrays RandomChain(int n, std::mt19937& random) {
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int64_t>(least, most)(random); };
  ChainArrays arrays;
  arrays.base = draw(0, 10);
  for (int l = 0; l < n; ++l) {
    const bool last = l + 1 == n;
    arrays.a.push_back(last ? 1 : draw(1, 30));
    arrays.S.push_back(arrays.a.back() + draw(1, 40));
    arrays.g.push_back(last ? 0 : arrays.a.back());
    arrays.f.push_back(draw(1, 12));
    arrays.b.push_back(2 * arrays.f.back());
    arrays.of.push_back(draw(0, 8));
    arrays.oe.push_back(draw(0, 8));
    arrays.ob.push_back(draw(0, 8));
  }
  return arrays;
}

}  // namespace onnx_mem
