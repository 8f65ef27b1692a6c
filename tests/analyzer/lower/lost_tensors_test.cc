// Parameters of which a file shows nothing: how large they may be.
#include "analyzer/lower/facts/lost_tensors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

TensorId AddStored(const std::string& name, const Dims& dims, Graph& graph) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = DType::kFloat32;
  tensor.shape = Shape(dims);
  tensor.role = TensorRole::kInitializer;
  graph.initializers.push_back(graph.tensors.Add(std::move(tensor)));
  return graph.initializers.back();
}

// A node of a call, "%relu : [...] target=torch.ops.aten.relu.default](args = (%y,)".
Node NodeOf(const std::string& op, const std::string& name, const std::string& call, const std::string& args) {
  Node node;
  node.op = op;
  node.metadata[std::string(kFxNode)] = absl::StrCat("%", name, " : [num_users=1] = call_function[target=torch.ops.",
                                                     call, "](args = (", args, "), kwargs = {})");
  return node;
}

// What `lost` takes at most beside an embedding [1000, 64], a linear layer [64, 64] and a norm of 64, which are read.
int64_t MostBytes(const std::vector<std::string>& lost) {
  Graph graph;
  std::string signature = "# inputs\n";
  const auto add = [&](const std::string& target) {
    absl::StrAppend(&signature, "p_", signature.size(), ": PARAMETER target='", target, "'\n");
  };
  for (auto& [name, dims] : std::vector<std::pair<std::string, Dims>>{
           {"embed.weight", {1000, 64}}, {"fc.weight", {64, 64}}, {"norm.weight", {64}}, {"out.scale", {1, 64, 4}}}) {
    AddStored(name, dims, graph);
    add(name);
  }
  for (const std::string& target : lost) add(target);
  graph.nodes.Add(NodeOf("Mul", "mul", "aten.mul.Tensor", "%x, %y"));
  graph.signature = ProgramSignature::Parse(signature);
  const LostTensors found = FindLostTensors(graph);
  EXPECT_EQ(found.unknown, lost);
  return found.unknown_most.bytes;
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

// What an exporter stored, and the node that reads it as its second operand.
struct Stored {
  std::string name;
  Dims dims;
  std::string op = "MatMul";
  std::string call = "aten.mul.Tensor";
  std::string argument;  // of the call
  std::string module;
};

// What `lost` takes at most beside an embedding [1000, 64] and what the exporter computed.
MostOfLost MostBeside(const std::vector<Stored>& stored, const std::vector<std::string>& lost,
                      const std::vector<std::string>& shown = {}) {
  Graph graph;
  std::string signature = "# inputs\np_embed: PARAMETER target='embed.weight'\n";
  for (const std::string& target : lost)
    absl::StrAppend(&signature, "p_", target, ": PARAMETER target='", target, "'\n");
  for (const std::string& target : shown) absl::StrAppend(&signature, "p_shown: PARAMETER target='", target, "'\n");
  AddStored("embed.weight", {1000, 64}, graph);
  for (const Stored& one : stored) {
    Node node = NodeOf(one.op, absl::StrCat(one.name, "_read"), one.call, absl::StrCat("%x, %", one.argument));
    node.inputs = {TensorId(), AddStored(one.name, one.dims, graph)};
    if (!one.module.empty())
      node.metadata["pkg.torch.onnx.name_scopes"] = absl::StrCat("['', '", one.module, "', 'call']");
    graph.nodes.Add(std::move(node));
  }
  graph.nodes.Add(NodeOf("Relu", "relu", "aten.relu.default", "%y,"));
  graph.signature = ProgramSignature::Parse(signature);
  const LostTensors found = FindLostTensors(graph);
  EXPECT_EQ(found.unknown, lost);
  return found.unknown_most;
}

int64_t MostBytesBeside(const std::vector<Stored>& stored, const std::vector<std::string>& lost,
                        const std::vector<std::string>& shown = {}) {
  return MostBeside(stored, lost, shown).bytes;
}

// linear(x, weight) is x * transpose(weight), which is stored: as large as the weight.
TEST(LostTensors, TheTransposeOfAWeightTellsItsSize) {
  const std::vector<Stored> stored = {{"val_3", {64, 32}, "MatMul", "aten.linear.default", "p_shown", "a.key"}};
  EXPECT_EQ(MostBytesBeside(stored, {"b.key.weight"}, {"a.key.weight"}), 64 * 32 * 4) << "not as the embedding";
}

TEST(LostTensors, WhatWasComputedAndStoredIsAsLargeAsWhatItIsMadeOf) {
  const std::vector<Stored> stored = {{"neg", {1, 64}, "Mul", "aten.mul.Tensor", "neg", "act"}};
  EXPECT_EQ(MostBytesBeside(stored, {"other.rate", "other.shift"}), 2 * 64 * 4) << "not 8192 elements each";
  EXPECT_EQ(MostBytesBeside({{"add", {64}, "Mul", "aten.mul.Tensor", "add", "act"}}, {"norm.weight"}), 64 * 4)
      << "1 + weight";
}

// A step computes it anew, and keeps what it makes on the way: the exporter folds what reads at most 8192 elements.
TEST(LostTensors, OnTheWayToWhatWasStoredMoreMayBeMade) {
  const std::vector<Stored> stored = {{"neg", {1, 64}, "Mul", "aten.mul.Tensor", "neg", "act"}};
  EXPECT_EQ(MostBeside(stored, {"other.rate"}).on_the_way_bytes, (8192 - 64) * 4);
  EXPECT_EQ(MostBeside(stored, {"other.weight"}).on_the_way_bytes, 0) << "a layer that nobody may call";
}

// cat([embed.weight, self.extra.weight]) in the code around a layer that nobody calls.
TEST(LostTensors, WhatTheCodeAroundComputedBoundsTheWeightOfALayerThatItReads) {
  const std::vector<Stored> stored = {{"val_3", {8, 8}, "MatMul", "aten.linear.default", "p_shown", "a.extra"},
                                      {"cat", {64, 100}, "MatMul", "aten.matmul.default", "cat", "head"}};
  EXPECT_EQ(MostBytesBeside(stored, {"head.extra.weight"}, {"a.extra.weight"}), 64 * 100 * 4);
}

// positions(torch.arange(16)): the rows are stored, and a table that is folded has at most 8192 elements.
TEST(LostTensors, ATableWhoseRowsArePickedIsAsLargeAsTheExporterFolds) {
  const Stored rows = {"embedding_1", {1, 16, 64}, "Add", "aten.add.Tensor", "embedding_1", ""};
  const MostOfLost most = MostBeside({rows}, {"positions.weight"});
  EXPECT_EQ(most.bytes, (8192 - 16 * 64) * 4);
  EXPECT_EQ(most.bytes + most.on_the_way_bytes, 1000 * 64 * 4) << "it is trained: not less than before";
  EXPECT_EQ(MostBytesBeside({rows}, {"positions.weight", "unused.weight"}), 2 * 1000 * 64 * 4) << "which of them?";
}

TEST(LostTensors, AVectorIsNoLongerThanTheLongestDimension) {
  EXPECT_EQ(MostBytesBeside({}, {"norm.weight", "norm.bias"}), 2 * 1000 * 4) << "not as the embedding";
}

// weight * mask is what the layer reads, and what is counted for the parameter.
// mean + spread * noise in training, mean in evaluation: as large as what is read of the module.
TEST(LostTensors, WhatAnotherModeReadsIsAsLargeAsWhatThisOneReads) {
  const std::vector<Stored> stored = {{"fc.mean", {256, 128}, "MatMul", "aten.linear.default", "p_shown", "fc"}};
  EXPECT_EQ(MostBytesBeside(stored, {"fc.spread"}, {"fc.mean"}), 256 * 128 * 4);
}

TEST(LostTensors, WhatStandsForALayersWeightIsCountedForIt) {
  const Stored masked = {"val_9", {16, 64}, "MatMul", "aten.linear.default", "mul_3", "net.0"};
  EXPECT_EQ(MostBytesBeside({masked}, {"net.0.weight"}), 0);
  EXPECT_EQ(MostBytesBeside({masked}, {"net.0.parametrizations.weight.original"}), 0);
  EXPECT_EQ(MostBytesBeside({masked}, {"net.0.scale", "net.0.weight"}), 16 * 64 * 4) << "each may be as large";
  Stored summed = masked;
  summed.argument = "sum_3";
  EXPECT_GT(MostBytesBeside({summed}, {"net.0.weight"}), 0) << "a sum is smaller than what it adds up";
}

// torch.nn.utils.weight_norm: the module keeps the weight beside both of its parameters.
TEST(LostTensors, AWeightOfDirectionAndLengthIsKeptBesideThem) {
  const Stored weight = {"mul_1", {8, 4, 3}, "Conv", "aten.conv1d.default", "mul_1", "conv"};
  EXPECT_GE(MostBytesBeside({weight}, {"conv.weight_g", "conv.weight_v"}), 8 * 4 * 3 * 4);
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

// A call in a module that reads a parameter by its name in the program.
struct Read {
  std::string module;
  std::string target;
};

// Of the parameters that are `listed`, in order, what is unread beside what the calls read and the file has.
std::vector<std::string> Unread(const std::vector<std::string>& listed, const std::vector<Read>& reads) {
  Graph graph;
  std::string signature = "# inputs\n";
  for (const std::string& target : listed)
    absl::StrAppend(&signature, "p_", target, ": PARAMETER target='", target, "'\n");
  for (const auto& [module, target] : reads) {
    Node node = NodeOf("Conv", absl::StrCat("y_", target), "aten.conv1d.default", absl::StrCat("%x, %p_", target));
    node.inputs = {TensorId(), AddStored(target, {4, 4, 3}, graph)};
    node.metadata["pkg.torch.onnx.name_scopes"] = absl::StrCat("['', '", module, "', 'call']");
    graph.nodes.Add(std::move(node));
  }
  graph.signature = ProgramSignature::Parse(signature);
  return FindLostTensors(graph).unknown;
}

using Targets = std::vector<std::string>;

// self.conv1, self.conv2; self.net = nn.Sequential(self.conv1, nn.ReLU(), self.conv2), which runs
TEST(LostTensors, LayersThatAContainerHasAgainAreItsOwn) {
  const std::vector<Read> reads = {{"net.0", "net.0.weight"}, {"net.2", "net.2.weight"}};
  EXPECT_EQ(Unread({"conv1.weight", "conv2.weight", "net.0.weight", "net.2.weight"}, reads), Targets());
  const Targets other = {"conv1.weight", "conv2.weight", "conv2.bias"};
  EXPECT_EQ(Unread({"conv1.weight", "conv2.weight", "conv2.bias", "net.0.weight", "net.2.weight"}, reads), other)
      << "another layer";
  const Targets later = {"ema1.weight", "ema2.weight"};
  EXPECT_EQ(Unread({"net.0.weight", "net.2.weight", "ema1.weight", "ema2.weight"}, reads), later)
      << "the last name stays";
  EXPECT_EQ(Unread({"a.weight", "net.0.weight"}, {{"net.0", "net.0.weight"}}), Targets{"a.weight"})
      << "one layer alone";
}

// self.decoder = Decoder(self.encoder), which calls neither: "encoder.fc" runs and reads what is "decoder.encoder"'s.
TEST(LostTensors, WhatAModuleOfTwoNamesHoldsIsOne) {
  const Targets listed = {"encoder.fc.weight", "encoder.dead.weight", "decoder.encoder.fc.weight",
                          "decoder.encoder.dead.weight"};
  EXPECT_EQ(Unread(listed, {{"encoder.fc", "decoder.encoder.fc.weight"}}), Targets{"decoder.encoder.dead.weight"});
}

}  // namespace
}  // namespace onnx_mem
