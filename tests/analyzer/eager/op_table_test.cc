#include "analyzer/eager/op_table.h"

#include <gtest/gtest.h>

namespace onnx_mem::eager {
namespace {

Graph OneNode(std::string op, std::vector<Dims> inputs) {
  Graph graph;
  Node node;
  node.name = "/layer/Node";
  node.op = std::move(op);
  for (const Dims& dims : inputs) {
    Tensor tensor;
    tensor.name = "x";
    tensor.shape.dims = dims;
    node.inputs.push_back(graph.tensors.Add(std::move(tensor)));
  }
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
  Graph graph = OneNode("matmul", {{4, 4}, {4, 4}});
  graph.nodes[NodeId(0)].inputs[1] = TensorId();
  EXPECT_EQ(CheckOperators(graph).code(), absl::StatusCode::kInvalidArgument);
}

TEST(FindOpTest, EveryNameOfTheContractHasARow) {
  for (const std::string_view op :
       {"reshape", "permute", "expand", "slice", "select", "split", "unbind", "squeeze", "unsqueeze", "contiguous",
        "identity", "detach", "relu", "gelu", "silu", "clamp", "pow_scalar", "mul_scalar", "cast", "isnan", "softsign",
        "glu", "add", "maximum", "where", "masked_fill", "prelu", "lerp", "compare", "logical", "bitwise", "linear",
        "addmm", "matmul", "bmm", "einsum", "conv", "conv_transpose", "batch_norm", "layer_norm", "group_norm",
        "instance_norm", "rms_norm", "local_response_norm", "lp_normalize", "weight_norm", "max_pool", "avg_pool",
        "adaptive_avg_pool", "adaptive_max_pool", "lp_pool", "max_unpool", "softmax", "log_softmax", "sum", "mean",
        "amax", "amin", "prod", "norm", "logsumexp", "argmax", "argmin", "cumsum", "cumprod", "max_dim", "std", "var",
        "all", "any", "embedding", "index_select", "gather", "index", "scatter", "scatter_add", "index_put", "topk",
        "copy_into", "addcmul",
        "sort", "nonzero", "unique", "one_hot", "triu", "tril", "cat", "stack", "pad", "upsample", "pixel_shuffle",
        "pixel_unshuffle", "roll", "repeat", "flip", "im2col", "col2im", "grid_sample", "affine_grid", "arange", "full",
        "empty", "zeros_like", "random", "sdpa", "dropout", "feature_dropout", "lstm", "gru", "rnn", "quantize",
        "dequantize", "fake_quantize", "nll_loss", "opaque", "assumed"}) {
    EXPECT_NE(FindOp(op), nullptr) << op;
  }
}

}  // namespace
}  // namespace onnx_mem::eager
