// scatter_reduce: what an index sends to one place, reduced there. Everything is saved, the result too.
// Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (scatter_reduce_backward, whose
// scatter_add is out of place).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {
namespace {

// The largest or smallest of what meets: each that equals the result gets its share of the gradient.
void ScatterExtremumBackward(Backward& b) {
  const TensorRef x = b.saved(0), source = b.saved(1);
  const TensorRef value = b.m.New("gather", source->dims, source->dtype);
  const auto chosen = [&](const EagerTensor& t) {
    const TensorRef mask = b.m.NewLike("eq", t, DType::kBool);
    return b.m.NewLike("_to_copy", t);
  };
  const TensorRef of_x = chosen(*x), of_source = chosen(*source);
  const TensorRef count = b.m.NewLike("scatter_add", *x);
  const TensorRef share = b.m.NewLike("div", *x);
  const auto gradient = [&](const EagerTensor& t) {
    const TensorRef mask = b.m.NewLike("eq", t, DType::kBool);
    return b.m.NewLike("mul", t);
  };
  b.result(0, gradient(*x));
  const TensorRef gathered = b.m.New("gather", source->dims, source->dtype);
  b.result(1, gradient(*source));
}

// By how many met: a count for each place, at least 1.
void ScatterMeanBackward(Backward& b) {
  const TensorRef source = b.saved(1);
  TensorRef count;
  {
    const TensorRef own = b.m.NewLike("ones_like", *b.grad());
    const TensorRef ones = b.m.NewLike("ones_like", *source);
    count = b.m.NewLike("scatter_add", *b.grad());
  }
  b.m.NewLike("eq", *count, DType::kBool);
  b.result(0, b.m.NewLike("div", *b.grad()));
  const TensorRef met = b.m.New("gather", source->dims, source->dtype);
  const TensorRef gathered = b.m.New("gather", source->dims, source->dtype);
  b.result(1, b.m.New("div", source->dims, source->dtype));
}

// Products without each factor; factors that are 0 are left out and counted.
void ScatterProductBackward(Backward& b) {
  const TensorRef x = b.saved(0), source = b.saved(1);
  const auto of_x = [&](std::string_view op) { return b.m.NewLike(op, *x); };
  const auto of_source = [&](std::string_view op) { return b.m.New(op, source->dims, source->dtype); };
  const auto mask = [&](const EagerTensor& t) { return b.m.New("eq", t.dims, DType::kBool); };
  TensorRef filled;
  {
    const TensorRef zero = mask(*x);
    filled = of_x("masked_fill");
  }
  const TensorRef product = of_x("scatter_reduce");
  TensorRef grad_x;
  {
    const TensorRef scaled = of_x("mul");
    grad_x = of_x("div");
  }
  const TensorRef zero = mask(*source);
  TensorRef zeros;
  {
    const TensorRef none = of_x("zeros_like"), cast = of_source("_to_copy"), counted = of_x("scatter_add");
    zeros = of_source("gather");
  }
  TensorRef single;
  {
    const TensorRef one = mask(*source);
    single = mask(*source);
  }
  const TensorRef replaced = of_source("masked_fill"), without = of_x("scatter_reduce");
  b.result(0, grad_x);
  const TensorRef divisor = of_source("masked_fill"), scaled = of_x("mul"), gathered = of_source("gather");
  const TensorRef quotient = of_source("div"), other = of_x("mul"), there = of_source("gather");
  b.result(1, of_source("where"));
}

struct ScatterFormula {
  std::string_view reduction;
  void (*run)(Backward& b);
};
constexpr auto kScatterFormulas = std::to_array<ScatterFormula>(
    {{"max", ScatterExtremumBackward}, {"mean", ScatterMeanBackward}, {"prod", ScatterProductBackward}});

// Inputs: x, index, source.
void EnactScatterReduce(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &source = call.input(2);
  NodeRef node = m.MakeNode("ScatterReduceBackward0", {x, source});
  for (size_t slot : {0, 2, 1}) node.Save(call.input(slot));
  out[0] = m.NewLike("scatter_reduce", *x);
  node.Save(out[0]);
  node.Output(out[0]);
  const std::string reduction = StringAttribute(call.node, "reduction", "add");
  const auto* formula = std::find_if(kScatterFormulas.begin(), kScatterFormulas.end(),
                                     [&](const ScatterFormula& each) { return each.reduction == reduction; });
  if (formula != kScatterFormulas.end()) return node.Formula(formula->run);
  node.Formula([dims = call.input(1)->dims](Backward& b) {
    b.result(0, b.grad());
    if (b.needs(1)) b.result(1, b.m.New("gather", dims, b.grad()->dtype));
  });
}

}  // namespace

std::span<const OpRow> ScatterReduceOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"scatter_reduce", EnactScatterReduce, 3},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
