// What tensor parallelism puts between operators: functional collectives, each of which allocates its result, and their
// backward (torch/distributed/tensor/_redistribute.py, parallel/style.py,
// torch/distributed/_functional_collectives.py).
#include <array>
#include <utility>

#include "analyzer/eager/engine/op_table.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// The same tensor to autograd as a view. A module that splits its weights by columns is given it: what comes back is a
// sum over the ranks, in a new tensor.
void EnactAllReduceGradient(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("ViewBackward0", {x});
  out[0] = m.Alias(x, x->dims, x->strides);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, b.m.NewLike("all_reduce", *b.grad())); });
}

// A sum over the ranks in a new tensor; the gradient is that of every part.
void EnactAllReduce(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("AllReduceBackward0", {x});
  out[0] = m.NewLike("all_reduce", *x);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, b.m.Alias(b.grad(), b.grad()->dims, b.grad()->strides)); });
}

struct Exchanged {
  Dims whole, local;
  size_t axis = 0;
  DType dtype = DType::kUnknown;
};

// Along the first axis from all ranks; along another one the pieces are joined, and what came is freed.
TensorRef AllGather(Machine& m, const Exchanged& x) {
  if (x.axis >= x.whole.size() || x.axis >= x.local.size()) return m.New("all_gather_into_tensor", x.whole, x.dtype);
  Dims stacked = x.local;
  stacked[0] *= Quotient(x.whole[x.axis], x.local[x.axis]);
  TensorRef gathered = m.New("all_gather_into_tensor", stacked, x.dtype);
  return x.axis == 0 ? gathered : m.New("cat", x.whole, x.dtype);
}

// The same backwards: the pieces are stacked first.
TensorRef ReduceScatter(Machine& m, const Exchanged& x) {
  TensorRef stacked;
  if (x.axis != 0) stacked = m.New("cat", x.whole, x.dtype);
  return m.New("reduce_scatter_tensor", x.local, x.dtype);
}

// Attributes: axis; reduces = 1: what comes back is a part of the sum over the ranks, else the same on all of them.
void EnactAllGather(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Exchanged exchanged{.whole = call.output_dims(),
                            .local = x->dims,
                            .axis = static_cast<size_t>(IntAttribute(call.node, "axis", 0)),
                            .dtype = x->dtype};
  NodeRef node = m.MakeNode("AllGatherBackward0", {x});
  out[0] = AllGather(m, exchanged);
  node.Output(out[0]);
  node.Formula([exchanged, reduces = IntAttribute(call.node, "reduces", 0) != 0](Backward& b) {
    b.result(0, reduces ? ReduceScatter(b.m, exchanged) : b.m.New("clone", exchanged.local, b.grad()->dtype));
  });
}

void EnactReduceScatter(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Exchanged exchanged{.whole = x->dims,
                            .local = call.output_dims(),
                            .axis = static_cast<size_t>(IntAttribute(call.node, "axis", 0)),
                            .dtype = x->dtype};
  NodeRef node = m.MakeNode("ReduceScatterBackward0", {x});
  out[0] = ReduceScatter(m, exchanged);
  node.Output(out[0]);
  node.Formula([exchanged](Backward& b) { b.result(0, AllGather(b.m, exchanged)); });
}

// Inputs: the rank's rows of the table, indices into the whole. Attribute "rows": of the whole. Indices of other ranks'
// rows are masked, and so is what is looked up for them, before it is summed (_MaskPartial); autograd is above that and
// keeps the indices as they came. The gradient is that of the whole table, on every rank.
void EnactSplitEmbedding(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &weight = call.input(0), &indices = call.input(1);
  NodeRef node = m.MakeNode("EmbeddingBackward0", {weight});
  TensorRef below = m.New("lt", indices->dims, DType::kBool);
  TensorRef above = m.New("ge", indices->dims, DType::kBool);
  const TensorRef mask = m.New("bitwise_or", indices->dims, DType::kBool);
  below.reset();
  above.reset();
  TensorRef shifted = m.New("sub", indices->dims, indices->dtype);
  m.BeginStep("index_put_");
  out[0] = m.New("embedding", call.output_dims(), weight->dtype);
  shifted.reset();
  m.BeginStep("index_put_");
  node.Save(indices);
  node.Output(out[0]);
  Dims whole = weight->dims;
  whole[0] = IntAttribute(call.node, "rows", whole[0]);
  node.Formula([whole, local = weight->dims](Backward& b) {
    const TensorRef gradient = b.m.New("embedding_dense_backward", whole, b.grad()->dtype);
    b.result(0, b.m.Alias(gradient, local, ContiguousStrides(local), /*is_view=*/false));
  });
}

bool ExchangesAxis(const CallShape& call) { return call.AxisWithin("axis", call.rank(0)); }

}  // namespace

std::span<const OpRow> CollectiveOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"all_gather", EnactAllGather, 1, 1, ExchangesAxis},
      {"all_reduce", EnactAllReduce},
      {"all_reduce_gradient", EnactAllReduceGradient},
      {"reduce_scatter", EnactReduceScatter, 1, 1, ExchangesAxis},
      {"split_embedding", EnactSplitEmbedding, 2, 1},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
