#include "tests/solver/random_graph.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "solver/problem/no_recompute.h"
#include "solver/problem/simulate.h"
#include "tests/solver/graph_builder.h"

namespace onnx_mem {
namespace {

// splitmix64 (public domain, S. Vigna), as the standard's distributions differ between libraries.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  int64_t Roll(int64_t least, int64_t most) {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return least + static_cast<int64_t>(z % static_cast<uint64_t>(most - least + 1));
  }
  bool Chance(int percent) { return Roll(1, 100) <= percent; }

 private:
  uint64_t state_;
};

using Tensors = std::vector<StepTensorId>;

// One forward operator of the training graph and what its backward needs.
struct Layer {
  std::vector<Tensors> reads;  // each entry a value that may be read from either of its tensors
  std::vector<size_t> from;    // layers that the reads come from; the input is not among them
  Tensors value;               // its output: the plain tensor, and the bundle that contains it if there is one
  Tensors saved;               // what only its backward reads
};

}  // namespace

StepGraph RandomTrainingGraph(uint64_t seed) {
  Dice dice(seed);
  GraphBuilder b;
  b.graph.base_bytes = dice.Roll(0, 5);
  const StepTensorId input = b.Input();
  const int64_t most_bytes = dice.Chance(30) ? 3 : 12;
  const int64_t count = dice.Roll(2, 5);
  int activations = 0;
  const auto activation = [&] {
    ++activations;
    return b.Activation(dice.Roll(dice.Chance(10) ? 0 : 1, most_bytes));
  };
  std::vector<Layer> layers;
  for (int64_t l = 0; l < count; ++l) {
    Layer layer;
    if (l == 0 || dice.Chance(10)) layer.reads.push_back({input});
    if (l > 0) layer.from.push_back(static_cast<size_t>(dice.Chance(75) ? l - 1 : dice.Roll(0, l - 1)));
    if (l > 1 && dice.Chance(35)) layer.from.push_back(static_cast<size_t>(dice.Roll(0, l - 2)));
    std::sort(layer.from.begin(), layer.from.end());
    layer.from.erase(std::unique(layer.from.begin(), layer.from.end()), layer.from.end());
    for (size_t from : layer.from) layer.reads.push_back(layers[from].value);
    const int64_t cost = dice.Roll(dice.Chance(10) ? 0 : 1, 9);
    const int64_t work = dice.Chance(25) ? dice.Roll(1, 6) : 0;
    layer.value = {activation()};
    if (dice.Chance(30) && activations < 9) {
      const StepTensorId bundle = activation();
      const std::string group = absl::StrCat("g", l);
      b.Forward(cost, layer.reads, {layer.value.front()}, work, group);
      b.Forward(cost + (dice.Chance(25) ? dice.Roll(0, 2) : 0), layer.reads, {bundle}, work, group);
      layer.saved.push_back(bundle);
      layer.value.push_back(bundle);
    } else {
      Tensors outputs{layer.value.front()};
      if (dice.Chance(25) && activations < 9) {
        layer.saved.push_back(activation());
        outputs.push_back(layer.saved.back());
      }
      b.Forward(cost, layer.reads, outputs, work);
    }
    layers.push_back(std::move(layer));
  }
  std::vector<StepTensorId> gradient;
  for (const Layer& layer : layers) {
    gradient.push_back(b.Gradient(dice.Chance(30) ? 0 : b.graph.tensors[layer.value.front()].size_bytes));
  }
  for (size_t l = layers.size(); l-- > 0;) {
    const Layer& layer = layers[l];
    GraphBuilder::Inputs inputs;
    const bool has_gradient = std::any_of(
        layers.begin() + static_cast<std::ptrdiff_t>(l) + 1, layers.end(),
        [&](const Layer& later) { return std::find(later.from.begin(), later.from.end(), l) != later.from.end(); });
    if (has_gradient) inputs.push_back({gradient[l]});
    for (StepTensorId saved : layer.saved) inputs.push_back({saved});
    for (const Tensors& read : layer.reads) {
      if (dice.Chance(60)) inputs.push_back(read);
    }
    if (dice.Chance(35)) inputs.push_back(layer.value);
    GraphBuilder::Outputs outputs;
    for (size_t from : layer.from) outputs.push_back(gradient[from]);
    if (dice.Chance(30)) outputs.push_back(b.ParameterGradient(dice.Roll(0, 4)));
    b.Backward(dice.Roll(1, 9), std::move(inputs), std::move(outputs), dice.Chance(20) ? dice.Roll(1, 6) : 0);
  }
  return b.graph;
}

StepGraph RandomOrderedGraph(uint64_t seed) {
  Dice dice(seed);
  GraphBuilder b;
  const int64_t count = dice.Roll(4, 9);
  Tensors made;
  for (int64_t i = 0; i < count; ++i) {
    GraphBuilder::Inputs inputs;
    std::set<int64_t> from;
    if (i > 0 && !dice.Chance(5)) from.insert(dice.Chance(70) ? i - 1 : dice.Roll(0, i - 1));
    if (i > 1 && dice.Chance(60)) from.insert(dice.Roll(0, i - 2));
    if (i > 2 && dice.Chance(20)) from.insert(dice.Roll(0, i - 3));
    for (int64_t f : from) inputs.push_back({made[static_cast<size_t>(f)]});
    made.push_back(b.Activation(dice.Roll(0, 9)));
    b.Ordered(dice.Roll(dice.Chance(10) ? 0 : 1, 9), std::move(inputs), {made.back()},
              dice.Chance(10) ? dice.Roll(1, 5) : 0);
  }
  return b.graph;
}

int64_t RandomBudget(const StepGraph& graph, uint64_t seed) {
  Dice dice(~seed);
  const auto schedule = ScheduleOf(graph, RunOnce(BuildStages(graph)));
  const int64_t full = schedule ? Simulate(graph, *schedule)->peak_bytes : 0;
  return full * dice.Roll(dice.Chance(20) ? 45 : 70, 99) / 100;
}

}  // namespace onnx_mem
