#include "analyzer/eager/engine/op_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

FrameworkGraph OneNode(std::string op, std::vector<Dims> inputs) {
  FrameworkGraph graph;
  FrameworkNode node;
  node.name = "/layer/Node";
  node.op = op;
  for (const Dims& dims : inputs) {
    Tensor tensor;
    tensor.name = "x";
    tensor.shape.dims = dims;
    node.inputs.push_back(graph.tensors.Add(std::move(tensor)));
  }
  Tensor result;
  if (!inputs.empty()) result.shape.dims = inputs[0];
  node.outputs.push_back(graph.tensors.Add(std::move(result)));
  graph.nodes.Add(std::move(node));
  return graph;
}

TEST(CheckOperatorsTest, AcceptsWhatTheRowAsksFor) {
  EXPECT_TRUE(CheckOperators(OneNode("relu", {{4}})).ok());
  EXPECT_TRUE(CheckOperators(OneNode("arange", {})).ok());
  EXPECT_TRUE(CheckOperators(OneNode("conv", {{1, 3, 8, 8}, {4, 3, 3, 3}})).ok());
}

TEST(CheckOperatorsTest, NamesTheNodeOfAnUnknownOperator) {
  const absl::Status status = CheckOperators(OneNode("levitate", {{4}}));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("/layer/Node"), std::string::npos);
}

TEST(CheckOperatorsTest, RejectsMissingInputsAndTooFewDimensions) {
  EXPECT_EQ(CheckOperators(OneNode("conv", {{1, 3, 8, 8}})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckOperators(OneNode("relu", {})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckOperators(OneNode("max_pool", {{3, 8}})).code(), absl::StatusCode::kInvalidArgument);
  FrameworkGraph graph = OneNode("matmul", {{4, 4}, {4, 4}});
  graph.nodes[NodeId(0)].inputs[1] = TensorId();
  EXPECT_EQ(CheckOperators(graph).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckOperatorsTest, RejectsRanksThatTheOperatorDoesNotTake) {
  for (const auto& graph :
       {OneNode("addmm", {{8, 4}, {4}}), OneNode("linear", {{8, 4}, {4}}), OneNode("bmm", {{2, 8, 4}, {4, 4}}),
        OneNode("matmul", {{8, 4}, {}}), OneNode("conv", {{1, 3, 8, 8}, {4, 3, 3}})}) {
    EXPECT_EQ(CheckOperators(graph).code(), absl::StatusCode::kInvalidArgument);
  }
}

// Counts up like an odometer; false after the last.
bool Next(std::vector<int>& digits, int base) {
  for (int& digit : digits) {
    if (++digit < base) return true;
    digit = 0;
  }
  return false;
}

Dims OfRank(int rank, int64_t size) {
  Dims dims;
  for (int i = 0; i < rank; ++i) dims.push_back(size == 0 ? 0 : size + i);
  return dims;
}

// One forward and backward of a call whose inputs and result have these ranks, if the operator's row takes it.
void Enact(const OpRow& row, const std::vector<int>& ranks, int64_t size, const Attributes& attributes) {
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (size_t i = 0; i + 1 < ranks.size(); ++i) inputs.push_back(run.Static({OfRank(ranks[i], size)}));
  const Dims result = OfRank(ranks.back(), size);
  FrameworkNode node;
  node.attributes = attributes;
  CallShape shape{.node = node, .inputs = {}, .output = &result};
  for (const TensorRef& input : inputs) shape.inputs.push_back(&input->dims);
  if (!Fits(row, shape)) return;
  const TensorRef y = run.One(row.name, inputs, result, attributes);
  if (y != nullptr && y->requires_grad) RunBackward(run.machine(), y);
}

// A malformed file may give any operator anything. What its row says it takes must not end the program: dims are looked
// up with a check that ends it, in release builds too.
TEST(FitsTest, WhatFitsCanBeEnacted) {
  constexpr int kRanks = 5;
  for (const OpRow* row : AllOps()) {
    const int most = std::clamp<int>(row->inputs, 2, 3);
    for (int count = std::max<int>(row->inputs, 1); count <= std::max<int>(most, row->inputs); ++count) {
      std::vector<int> ranks(static_cast<size_t>(count) + 1, 0);
      do {
        Enact(*row, ranks, 2, {});
        Enact(*row, ranks, 0, {});
        Enact(*row, ranks, 3, {{"axis", int64_t{1}}, {"axes", std::vector<int64_t>{1}}});
      } while (Next(ranks, kRanks));
    }
  }
}

TEST(FindOpTest, EveryNameOfTheContractHasARow) {
  for (const std::string_view op : {"reshape",
                                    "permute",
                                    "expand",
                                    "slice",
                                    "select",
                                    "split",
                                    "unbind",
                                    "squeeze",
                                    "unsqueeze",
                                    "contiguous",
                                    "identity",
                                    "detach",
                                    "relu",
                                    "gelu",
                                    "silu",
                                    "clamp",
                                    "pow_scalar",
                                    "mul_scalar",
                                    "cast",
                                    "isnan",
                                    "softsign",
                                    "glu",
                                    "add",
                                    "maximum",
                                    "clamp_by",
                                    "where",
                                    "masked_fill",
                                    "prelu",
                                    "lerp",
                                    "compare",
                                    "logical",
                                    "bitwise",
                                    "linear",
                                    "addmm",
                                    "matmul",
                                    "bmm",
                                    "einsum",
                                    "conv",
                                    "conv_transpose",
                                    "batch_norm",
                                    "layer_norm",
                                    "group_norm",
                                    "instance_norm",
                                    "rms_norm",
                                    "local_response_norm",
                                    "lp_normalize",
                                    "weight_norm",
                                    "max_pool",
                                    "avg_pool",
                                    "adaptive_avg_pool",
                                    "adaptive_max_pool",
                                    "lp_pool",
                                    "max_unpool",
                                    "softmax",
                                    "log_softmax",
                                    "sum",
                                    "mean",
                                    "amax",
                                    "amin",
                                    "prod",
                                    "norm",
                                    "logsumexp",
                                    "argmax",
                                    "argmin",
                                    "cumsum",
                                    "cumprod",
                                    "max_dim",
                                    "std",
                                    "var",
                                    "all",
                                    "any",
                                    "embedding",
                                    "index_select",
                                    "gather",
                                    "index",
                                    "scatter",
                                    "scatter_add",
                                    "index_put",
                                    "topk",
                                    "copy_into",
                                    "addcmul",
                                    "sort",
                                    "nonzero",
                                    "unique",
                                    "one_hot",
                                    "triu",
                                    "tril",
                                    "cat",
                                    "stack",
                                    "pad",
                                    "upsample",
                                    "pixel_shuffle",
                                    "pixel_unshuffle",
                                    "roll",
                                    "repeat",
                                    "flip",
                                    "im2col",
                                    "col2im",
                                    "grid_sample",
                                    "affine_grid",
                                    "arange",
                                    "full",
                                    "empty",
                                    "zeros_like",
                                    "random",
                                    "sdpa",
                                    "dropout",
                                    "feature_dropout",
                                    "lstm",
                                    "gru",
                                    "rnn",
                                    "quantize",
                                    "dequantize",
                                    "fake_quantize",
                                    "nll_loss",
                                    "custom_function",
                                    "opaque",
                                    "assumed"}) {
    EXPECT_NE(FindOp(op), nullptr) << op;
  }
}

}  // namespace
}  // namespace onnx_mem::eager
