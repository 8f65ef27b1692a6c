// Sizes of 0, everywhere: each dimension of each tensor of each operator in the committed models and records, each
// dimension of each of their inputs and outputs. The answer is a figure or an error, never a division by zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/study/study.h"
#include "tests/gunzip.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

// Of ONNX's own tests of operators (testdata/node_tests.pb.gz): models, each behind its length.
std::vector<std::string> OperatorModels() {
  const std::string bytes = Gunzip(ONNX_MEM_SOURCE_DIR "/testdata/node_tests.pb.gz");
  std::vector<std::string> models;
  for (size_t at = 0; at < bytes.size();) {
    size_t length = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      length |= static_cast<size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    models.push_back(bytes.substr(at, length));
    at += length;
  }
  return models;
}

// Models and records of testdata, and the models of single operators.
const std::vector<ModelFile>& Committed() {
  static const auto& files = *[] {
    auto* opened = new std::vector<ModelFile>();
    const auto add = [&](absl::StatusOr<ModelFile> file) {
      if (file.ok()) opened->push_back(*std::move(file));
    };
    for (const char* folder : {"models", "records"}) {
      for (const auto& entry : fs::directory_iterator(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / folder)) {
        const std::string extension = entry.path().extension().string();
        if (extension == ".onnx" || extension == ".eager") add(ModelFile::Open(entry.path().string()));
      }
    }
    for (std::string& bytes : OperatorModels()) add(ModelFile::Parse(std::move(bytes), "operator"));
    return opened;
  }();
  return files;
}

// At a batch of 2, every free dimension 8.
absl::StatusOr<ImportedModel> ImportAtTwo(const ModelFile& file) {
  Bindings bindings{.batch = 2};
  absl::StatusOr<ImportedModel> model = file.Import(bindings);
  if (!model.ok() && DiagnosticOf(model.status()).code == Code::kUnboundDim) {
    bindings.dims = {{"seq", 8}};
    model = file.Import(bindings);
    if (!model.ok()) model = file.Import({.batch = 2, .dims = {{"sequence_length", 8}, {"past_sequence_length", 8}}});
  }
  if (!model.ok()) model = file.Import({});
  return model;
}

// Runs it under every loss; what comes out is checked by EnactLowered itself.
void EnactEveryWay(const Lowered& lowered) {
  for (const LossKind loss : {LossKind::kSum, LossKind::kMean, LossKind::kMse, LossKind::kCrossEntropy}) {
    onnx_mem::Run run;
    run.loss = loss;
    (void)EnactLowered(lowered, run);
  }
  onnx_mem::Run inference;
  inference.training = false;
  (void)EnactLowered(lowered, inference);
}

// A graph of nothing but node `id` of `whole`, everything that it reads trained.
Lowered Alone(const Lowered& whole, NodeId id) {
  const FrameworkGraph& graph = whole.graph;
  Lowered alone;
  const auto copy = [&](TensorIds& ids, bool made) {
    for (TensorId& old : ids) {
      if (!old.valid()) continue;
      Tensor tensor = Unlinked(graph.tensors[old]);
      tensor.role = made ? TensorRole::kActivation : TensorRole::kInitializer;
      const bool trained = !made && IsFloating(tensor.dtype);
      alone.kinds.Add(made ? TensorKind::kActivation : trained ? TensorKind::kParameter : TensorKind::kBuffer);
      alone.releases.Add(made ? 1 : -1);
      old = alone.graph.tensors.Add(std::move(tensor));
      (made ? alone.graph.outputs : alone.graph.initializers).push_back(old);
    }
  };
  FrameworkNode node = graph.nodes[id];
  copy(node.inputs, /*made=*/false);
  copy(node.outputs, /*made=*/true);
  alone.graph.nodes.Add(std::move(node));
  LinkTensors(alone.graph);
  return alone;
}

// What tells two calls of an operator apart here: ranks and attributes.
std::string KindOf(const FrameworkGraph& graph, const FrameworkNode& node) {
  std::string text = node.op.str();
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    absl::StrAppend(&text, " |");
    for (TensorId id : *ids) {
      absl::StrAppend(&text, " ", id.valid() ? std::to_string(graph.tensors[id].shape.rank()) : "-");
    }
  }
  for (const auto& [name, value] : node.attributes) absl::StrAppend(&text, " ", name);
  return text;
}

// Each size of each tensor to 0: alone, and with all sizes of the graph that are the same.
void EnactWithZeros(Lowered& lowered) {
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    for (size_t axis = 0; axis < lowered.graph.tensors[id].shape.dims.size(); ++axis) {
      const int64_t size = lowered.graph.tensors[id].shape.dims[axis];
      Lowered alone = lowered;
      alone.graph.tensors[id].shape.dims[axis] = 0;
      EnactEveryWay(alone);
      Lowered all = lowered;
      for (Tensor& tensor : all.graph.tensors)
        std::replace(tensor.shape.dims.begin(), tensor.shape.dims.end(), size, int64_t{0});
      EnactEveryWay(all);
    }
  }
}

TEST(ZeroSizes, OfEveryOperator) {
  std::set<std::string> seen;
  for (const ModelFile& file : Committed()) {
    const absl::StatusOr<ImportedModel> model = ImportAtTwo(file);
    if (!model.ok()) continue;
    for (const bool training : {true, false}) {
      onnx_mem::Run run;
      run.training = training;
      const absl::StatusOr<Lowered> lowered = Prepare(model->graph, run);
      if (!lowered.ok()) continue;
      for (NodeId id(0); lowered->graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
        if (!seen.insert(KindOf(lowered->graph, lowered->graph.nodes[id])).second) continue;
        Lowered alone = Alone(*lowered, id);
        EnactWithZeros(alone);
      }
    }
  }
  EXPECT_GT(seen.size(), 500u);
}

TEST(ZeroSizes, OfEveryOutput) {
  int64_t outputs = 0;
  for (const ModelFile& file : Committed()) {
    const absl::StatusOr<ImportedModel> model = ImportAtTwo(file);
    if (!model.ok()) continue;
    const absl::StatusOr<Lowered> lowered = Prepare(model->graph, onnx_mem::Run());
    if (!lowered.ok()) continue;
    for (TensorId id : lowered->graph.outputs) {
      for (size_t axis = 0; axis < lowered->graph.tensors[id].shape.dims.size(); ++axis) {
        Lowered empty = *lowered;
        empty.graph.tensors[id].shape.dims[axis] = 0;
        onnx_mem::Run run;
        run.loss = LossKind::kCrossEntropy;
        (void)EnactLowered(empty, run);
        ++outputs;
      }
    }
  }
  EXPECT_GT(outputs, 50);
}

TEST(ZeroSizes, OfEveryInput) {
  int64_t bound = 0;
  for (const ModelFile& file : Committed()) {
    const absl::StatusOr<ImportedModel> model = ImportAtTwo(file);
    if (!model.ok() || model->info.from_record) continue;
    for (TensorId id : model->graph.inputs) {
      const Tensor& input = model->graph.tensors[id];
      for (size_t axis = 0; axis < input.shape.dims.size(); ++axis) {
        Workload workload;
        workload.run.loss = LossKind::kCrossEntropy;
        workload.bindings.inputs[input.name] = input.shape.dims;
        workload.bindings.inputs[input.name][axis] = 0;
        bound += Study(file).Expected(workload).ok();
      }
    }
  }
  EXPECT_GT(bound, 0);
}

}  // namespace
}  // namespace onnx_mem
