// Names of functions that are no modules: a file shows them by their repetition alone.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

using Program = LoweredProgram;

struct Edges {
  TensorId product;  // an operand that a name keeps in code of its own
  TensorId result;
  int32_t end = 0;
};

// def edges(x): d = x @ x; d = exp(-(d * 2)); return d @ x + d
Edges RunEdges(Program& p, TensorId x) {
  TensorId d = p.Run("bmm", {x, x});
  d = p.Run("mul_scalar", {d});
  d = p.Run("neg", {d});
  Edges e;
  e.product = p.Run("exp", {d});
  d = p.Run("bmm", {e.product, x});
  e.result = p.Run("add", {d, e.product});
  e.end = p.last();
  return e;
}

// How long the first call's operand is held in x = self.A(edges(x)); x = self.B(edges(x)).
std::pair<int32_t, Edges> HeldBetween(const std::string& first, const std::string& second, int32_t* last) {
  Program p;
  const Edges one = RunEdges(p, p.input());
  const TensorId y = p.Run("conv", {one.result}, first);
  const Edges two = RunEdges(p, y);
  p.Run("conv", {two.result}, second);
  *last = p.last();
  return {p.Release(one.product).first, one};
}

TEST(LocalHelpers, NamesOfARepeatedFunctionGoWhenItReturns) {
  int32_t last = 0;
  const auto [held, edges] = HeldBetween("conv1", "head", &last);
  EXPECT_EQ(held, edges.end);
}

TEST(LocalHelpers, RoundsOfALoopKeepTheirNames) {  // for conv in self.convs: d = x @ x ...; x = conv(d)
  int32_t last = 0;
  const auto [held, edges] = HeldBetween("convs.0", "convs.1", &last);
  EXPECT_GT(held, edges.end);
}

}  // namespace
}  // namespace onnx_mem::names
