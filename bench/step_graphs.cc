#include "bench/step_graphs.h"

#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

using Tensors = std::vector<StepTensorId>;

class Step {
 public:
  StepTensorId Add(std::string name, int64_t bytes, StepTensorKind kind) {
    return graph_.tensors.Add({std::move(name), bytes, kind});
  }

  void Run(std::string name, StepOpKind kind, int64_t cost, std::vector<Tensors> inputs, Tensors outputs,
           int64_t work_bytes = 0, std::string group = "") {
    graph_.ops.Add({std::move(name), kind, cost, work_bytes, std::move(inputs), std::move(outputs), std::move(group)});
  }

  // The gradient of a tensor, made when first requested.
  StepTensorId Gradient(StepTensorId of) {
    const auto [it, inserted] = gradients_.emplace(of, StepTensorId());
    if (inserted) {
      it->second =
          Add(absl::StrCat("d.", graph_.tensors[of].name), graph_.tensors[of].size_bytes, StepTensorKind::kGradient);
    }
    return it->second;
  }

  StepGraph& graph() { return graph_; }

 private:
  StepGraph graph_;
  std::map<StepTensorId, StepTensorId> gradients_;
};

class Transformer {
 public:
  StepGraph Build(int layers) {
    step_.graph().base_bytes = 100;
    input_ = step_.Add("x", 0, StepTensorKind::kInput);
    StepTensorId current = input_;
    for (int layer = 0; layer < layers; ++layer) current = Layer(layer, current);
    Forward("loss", 1, {current}, 1, {.reads_input = true, .reads_output = true});
    for (auto done = done_.rbegin(); done != done_.rend(); ++done) Backward(*done);
    return std::move(step_.graph());
  }

 private:
  struct Saved {
    bool reads_input = false;
    bool reads_output = false;
    int64_t aux_bytes = 0;
  };
  struct Done {
    std::string name;
    int64_t cost;
    Tensors inputs;
    Tensors outputs;
    Saved saved;
  };

  StepTensorId Layer(int layer, StepTensorId x) {
    const auto name = [&](const char* part) { return absl::StrCat(part, layer); };
    const Saved input{.reads_input = true};
    const Saved normalized{.reads_input = true, .aux_bytes = 1};
    const Saved output{.reads_output = true};
    const StepTensorId h = Forward(name("norm1."), 2, {x}, 16, normalized);
    const StepTensorId q = Forward(name("query"), 12, {h}, 16, input);
    const StepTensorId k = Forward(name("key"), 12, {h}, 16, input);
    const StepTensorId v = Forward(name("value"), 12, {h}, 16, input);
    const StepTensorId scores = Forward(name("scores"), 6, {q, k}, 32, input);
    const StepTensorId weights = Forward(name("softmax"), 3, {scores}, 32, output);
    const StepTensorId context = Forward(name("context"), 6, {weights, v}, 16, input);
    const StepTensorId projected = Forward(name("project"), 12, {context}, 16, input);
    const StepTensorId sum = Forward(name("sum1."), 1, {x, projected}, 16, {});
    const StepTensorId h2 = Forward(name("norm2."), 2, {sum}, 16, normalized);
    const StepTensorId up = Forward(name("up"), 40, {h2}, 64, input);
    const StepTensorId gelu = Forward(name("gelu"), 4, {up}, 64, input);
    const StepTensorId down = Forward(name("down"), 40, {gelu}, 16, input);
    return Forward(name("sum2."), 1, {sum, down}, 16, {});
  }

  StepTensorId Forward(const std::string& name, int64_t cost, Tensors inputs, int64_t bytes, const Saved& saved) {
    Tensors outputs{step_.Add(name, bytes, StepTensorKind::kActivation)};
    if (saved.aux_bytes > 0) {
      outputs.push_back(step_.Add(absl::StrCat(name, ".aux"), saved.aux_bytes, StepTensorKind::kActivation));
    }
    std::vector<Tensors> reads;
    for (StepTensorId tensor : inputs) reads.push_back({tensor});
    step_.Run(absl::StrCat("F.", name), StepOpKind::kForward, cost, std::move(reads), outputs);
    done_.push_back({name, cost, std::move(inputs), outputs, saved});
    return outputs.front();
  }

  void Backward(const Done& done) {
    std::vector<Tensors> reads;
    if (&done != &done_.back()) reads.push_back({step_.Gradient(done.outputs.front())});
    for (StepTensorId tensor : done.inputs) {
      if (done.saved.reads_input) reads.push_back({tensor});
    }
    if (done.saved.reads_output) reads.push_back({done.outputs.front()});
    if (done.saved.aux_bytes > 0) reads.push_back({done.outputs.back()});
    Tensors writes;
    for (StepTensorId tensor : done.inputs) {
      if (tensor != input_) writes.push_back(step_.Gradient(tensor));
    }
    step_.Run(absl::StrCat("B.", done.name), StepOpKind::kBackward, 2 * done.cost, std::move(reads), std::move(writes));
  }

  Step step_;
  StepTensorId input_;
  std::vector<Done> done_;
};

}  // namespace

StepGraph ChainOfBlocks(int blocks) {
  std::mt19937 random(1);
  const auto draw = [&](int least, int most) { return least + static_cast<int64_t>(random() % (most - least + 1)); };
  Step step;
  struct Block {
    Tensors input;
    StepTensorId output;
    StepTensorId saved;
    int64_t cost;
  };
  std::vector<Block> done;
  Tensors current{step.Add("x", 0, StepTensorKind::kInput)};
  for (int l = 0; l < blocks; ++l) {
    const int64_t bytes = draw(4, 40);
    const int64_t cost = draw(2, 20);
    const StepTensorId output = step.Add(absl::StrCat("a", l), bytes, StepTensorKind::kActivation);
    const StepTensorId saved = step.Add(absl::StrCat("S", l), bytes + draw(2, 80), StepTensorKind::kActivation);
    const std::string group = absl::StrCat("F", l);
    step.Run(absl::StrCat("run", l), StepOpKind::kForward, cost, {current}, {output}, draw(0, 4), group);
    step.Run(absl::StrCat("save", l), StepOpKind::kForward, cost, {current}, {saved}, draw(0, 4), group);
    done.push_back({current, output, saved, cost});
    current = {output, saved};
  }
  for (int l = blocks; l-- > 0;) {
    std::vector<Tensors> reads{done[l].input, {done[l].saved}};
    if (l + 1 < blocks) reads.push_back({step.Gradient(done[l].output)});
    Tensors writes;
    if (l > 0) writes.push_back(step.Gradient(done[l - 1].output));
    step.Run(absl::StrCat("B", l), StepOpKind::kBackward, 2 * done[l].cost, std::move(reads), std::move(writes),
             draw(0, 6));
  }
  return std::move(step.graph());
}

StepGraph TransformerLayers(int layers) { return Transformer().Build(layers); }

}  // namespace onnx_mem
