// torch.einsum's letters that broadcast, ellipses and diagonals: bytes saved (with parameters, and of storages that are
// none), as PyTorch 2.15's saved_tensors_hooks tell them.
#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

struct EinsumCase {
  std::string equation;
  std::vector<Dims> operands;
  Dims output;
  int64_t saved;
  int64_t extra;
};
void PrintTo(const EinsumCase& c, std::ostream* out) { *out << c.equation; }

class EinsumOperands : public testing::TestWithParam<EinsumCase> {};

TEST_P(EinsumOperands, AreExpandedAsMeasured) {
  const EinsumCase& c = GetParam();
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (const Dims& dims : c.operands) inputs.push_back(run.Static({dims}));
  const TensorRef y = run.One("einsum", inputs, c.output, {{"equation", c.equation}});
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->dims, c.output);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/true), c.saved);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/false), c.extra);
  EXPECT_NE(run.Backward(y), "");
}

INSTANTIATE_TEST_SUITE_P(
    Equations, EinsumOperands,
    testing::Values(EinsumCase{"ebnd,ehd->ebhn", {{1, 2, 16, 8}, {4, 3, 8}}, {4, 2, 3, 16}, 1408, 0},
                    EinsumCase{"bhid,bhjd->bhij", {{1, 4, 16, 8}, {2, 4, 16, 8}}, {2, 4, 16, 16}, 6144, 4096},
                    EinsumCase{"ii->i", {{32, 32}}, {32}, 0, 0},
                    EinsumCase{"iij,jk->ik", {{16, 16, 8}, {8, 4}}, {16, 4}, 8320, 0},
                    EinsumCase{"...ij,...jk", {{2, 3, 8, 16}, {3, 16, 4}}, {2, 3, 8, 4}, 3840, 3072},
                    EinsumCase{"ij...,jk->ik...", {{8, 16, 3}, {16, 4}}, {8, 4, 3}, 1792, 1536}));

struct LayoutCase {
  std::string equation;
  std::vector<Dims> operands;
  Dims output, strides;
};

// The operands change places where that leaves the result in its own order, as torch.einsum(...).stride() shows.
TEST(EinsumLayout, IsAsMeasured) {
  const std::vector<LayoutCase> cases = {
      {"dab,dbc->dac", {{11, 3, 5}, {11, 5, 7}}, {11, 3, 7}, {21, 7, 1}},
      {"dab,dbc->dca", {{11, 3, 5}, {11, 5, 7}}, {11, 7, 3}, {21, 3, 1}},
      {"adb,dbc->cad", {{3, 11, 5}, {11, 5, 7}}, {7, 3, 11}, {3, 1, 21}},
      {"abe,bcd->cdae", {{3, 5, 13}, {5, 7, 11}}, {7, 11, 3, 13}, {429, 39, 13, 1}},
      {"abe,bcd->cade", {{3, 5, 13}, {5, 7, 11}}, {7, 3, 11, 13}, {11, 1001, 1, 77}},
  };
  for (const LayoutCase& c : cases) {
    OperatorRun run;
    const TensorRef y = run.One("einsum", {run.Static({c.operands[0]}), run.Static({c.operands[1]})}, c.output,
                                {{"equation", c.equation}});
    ASSERT_NE(y, nullptr) << c.equation;
    EXPECT_EQ(y->strides, c.strides) << c.equation;
  }
}

// What two of [64, 64] make first, where all of one is summed, is kept or not by which two it is.
TEST(EinsumOrder, IsThatOfThePath) {
  const auto saved = [](const std::vector<int64_t>& path) {
    OperatorRun run;
    const std::vector<TensorRef> inputs = {run.Static({{64, 4}}), run.Static({{8, 4}}), run.Static({{64, 4}})};
    const TensorRef y = run.One("einsum", inputs, {64, 64}, {{"equation", "ia,ja,ka->ik"}, {"path", path}});
    EXPECT_EQ(y->dims, (Dims{64, 64}));
    EXPECT_NE(run.Backward(y), "");
    return run.SavedBytes(/*with_inputs=*/false);
  };
  EXPECT_EQ(saved({}), saved({0, 1, 0, 1}));
  EXPECT_NE(saved({}), saved({0, 2, 0, 1}));
}

}  // namespace
}  // namespace onnx_mem::eager
