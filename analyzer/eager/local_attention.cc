// The part of locals.h about attention that is written out: which of its values have names.
//
//   F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)      the normalized ones have none
//   (q * self.scale) @ k ... q                                             nor has the scaled one
//   x = windows(x); qkv = self.qkv(x); ...; x = attn @ v                   x has, until attention's result takes it over
#include <algorithm>

#include "analyzer/eager/locals.h"

namespace onnx_mem::eager {
namespace {

bool IsProduct(const Node& node) { return node.op == "matmul" || node.op == "bmm" || node.op == "sdpa"; }

}  // namespace

const Node* Locals::Maker(TensorId id) const {
  const NodeId producer = id.valid() ? graph_.tensors[id].producer : NodeId();
  return producer.valid() ? &graph_.nodes[producer] : nullptr;
}

// Divided by its own norm, for cosine attention.
bool Locals::IsNormalized(TensorId id) const {
  const Node* quotient = Maker(id);
  if (quotient != nullptr && quotient->op == "permute") quotient = Maker(quotient->inputs[0]);
  if (quotient == nullptr || quotient->op != "div") return false;
  constexpr int kMostSteps = 3;  // expand, clamp, norm
  const Node* divisor = Maker(quotient->inputs[1]);
  for (int step = 0; step < kMostSteps && divisor != nullptr && !divisor->inputs.empty(); ++step) {
    if (divisor->op == "norm") return divisor->inputs[0] == quotient->inputs[0];
    divisor = Maker(divisor->inputs[0]);
  }
  return false;
}

// q = q * self.scale would have taken the name of a value that is read again later.
bool Locals::IsScaledInProduct(TensorId id) const {
  const NodeId producer = graph_.tensors[id].producer;
  const Node& scaled = graph_.nodes[producer];
  if (scaled.op != "mul_scalar" && scaled.op != "div_scalar") return false;
  const auto& readers = graph_.tensors[scaled.inputs[0]].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader > producer; });
}

// The last node of the statement x = (attn @ v).transpose(1, 2).reshape(...) in the code of the frame after `node`; -1 if it
// does not attend. Two products, or the function that does both.
int32_t Locals::EndOfAttention(int32_t node, const Home& home) const {
  const int32_t end = calls_.EndOfFrameAt(node, home.depth);
  int32_t products = 0, attends = -1;
  for (int32_t i = node + 1; i <= end && attends < 0; ++i) {
    const Node& product = graph_.nodes[NodeId(i)];
    if (calls_.of_node(i).size() != home.depth || !IsProduct(product)) continue;
    products += product.op == "sdpa" ? 2 : 1;
    if (products >= 2) attends = i;
  }
  const auto shapes = [&](int32_t i) {
    return graph_.nodes[NodeId(i)].op == "reshape" || graph_.nodes[NodeId(i)].op == "permute";
  };
  while (attends >= 0 && attends < end && shapes(attends + 1)) ++attends;
  return attends;
}

// What is projected inside the function that also attends keeps its name until the result takes it over.
int32_t Locals::HeldByProjection(TensorId id, const Home& home) const {
  int32_t last = -1;
  for (NodeId reader : graph_.tensors[id].consumers) {
    if (graph_.nodes[reader].op != "linear") return -1;
    last = std::max(last, reader.value());
  }
  return last < 0 ? -1 : EndOfAttention(last, home);
}

}  // namespace onnx_mem::eager
