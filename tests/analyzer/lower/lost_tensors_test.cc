// Parameters of which a file shows nothing: how large they may be.
#include "analyzer/lower/facts/lost_tensors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

// What `lost` takes at most beside an embedding [1000, 64], a linear layer [64, 64] and a norm of 64, which are read.
int64_t MostBytes(const std::vector<std::string>& lost) {
  Graph graph;
  std::string signature = "# inputs\n";
  const auto add = [&](const std::string& target) {
    absl::StrAppend(&signature, "p_", signature.size(), ": PARAMETER target='", target, "'\n");
  };
  for (auto& [name, dims] : std::vector<std::pair<std::string, Dims>>{
           {"embed.weight", {1000, 64}}, {"fc.weight", {64, 64}}, {"norm.weight", {64}}, {"out.scale", {1, 64, 4}}}) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = DType::kFloat32;
    tensor.shape = Shape(dims);
    tensor.role = TensorRole::kInitializer;
    graph.initializers.push_back(graph.tensors.Add(std::move(tensor)));
    add(name);
  }
  for (const std::string& target : lost) add(target);
  Node node;
  node.op = "Mul";
  node.metadata[std::string(kFxNode)] =
      "%mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %y), kwargs = {})";
  graph.nodes.Add(std::move(node));
  graph.signature = ProgramSignature::Parse(signature);
  const LostTensors found = FindLostTensors(graph);
  EXPECT_EQ(found.unknown, lost);
  return found.unknown_bytes;
}

TEST(LostTensors, ATwinOrALayerOfThatNameTellsTheSize) {
  EXPECT_EQ(MostBytes({"blocks.1.fc.weight"}), 64 * 64 * 4);
  EXPECT_EQ(MostBytes({"unused.weight"}), 1000 * 64 * 4) << "of a layer that nobody may call: as the largest weight";
}

TEST(LostTensors, BiasesAndNormsAreVectors) {
  EXPECT_EQ(MostBytes({"unused.bias", "norm_cross.weight", "norm_cross.bias", "x.gamma"}), 4 * 64 * 4);
}

// onnxscript's optimizer folds what reads at most 8192 elements; of what it transposes the result is in the file.
TEST(LostTensors, WhatAModuleHoldsByItsOwnNameWasFolded) {
  EXPECT_EQ(MostBytes({"class_token"}), 8192 * 4);
  EXPECT_EQ(MostBytes({"out.weight"}), 8192 * 4) << "its layer runs: another parameter of it is read";
}

// lstm(x, [h, c], [weight_ih_l0, ...], ...): the operator has its weights in another order, under other names.
TEST(LostTensors, WhatACallReadsInAListIsRead) {
  Graph graph;
  Node node;
  node.op = "LSTM";
  node.metadata[std::string(kFxNode)] =
      "%lstm : [num_users=3] = call_function[target=torch.ops.aten.lstm.input](args = (%x, [%zeros, %zeros_1], "
      "[%p_ih, %p_hh], True, 1), kwargs = {})";
  graph.nodes.Add(std::move(node));
  graph.signature = ProgramSignature::Parse(
      "# inputs\np_ih: PARAMETER target='lstm.weight_ih_l0'\np_hh: PARAMETER target='lstm.weight_hh_l0'\n"
      "p_no: PARAMETER target='unused'\n");
  EXPECT_EQ(FindLostTensors(graph).unknown, std::vector<std::string>{"unused"});
}

// Two calls that read `target`, each under its name; the file has the first alone.
int64_t Merged(const std::string& first, const std::string& second) {
  Graph graph;
  Tensor tensor;
  tensor.name = first;
  tensor.dtype = DType::kFloat32;
  tensor.shape = Shape(Dims{8});
  tensor.role = TensorRole::kInitializer;
  const TensorId id = graph.tensors.Add(std::move(tensor));
  graph.initializers.push_back(id);
  for (const std::string name : {"a", "b"}) {
    Node node;
    node.op = "Mul";
    node.inputs = {id};
    node.metadata[std::string(kFxNode)] =
        absl::StrCat("%", name, " : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %c_",
                     name, "), kwargs = {})");
    graph.nodes.Add(std::move(node));
  }
  graph.signature = ProgramSignature::Parse(absl::StrCat("# inputs\nc_a: CONSTANT_TENSOR target='", first,
                                                         "'\nc_b: CONSTANT_TENSOR target='", second, "'\n"));
  return FindLostTensors(graph).merged;
}

// A dict of parameters: each place that reads one has a name.
TEST(LostTensors, WhatCodeReadsFromADictIsOneTensor) {
  EXPECT_EQ(Merged("cell.lifted_tensor_0", "cell.lifted_tensor_8"), 0);
  EXPECT_EQ(Merged("cell.zeros", "cell.more_zeros"), 1) << "two attributes of equal contents";
}

}  // namespace
}  // namespace onnx_mem
