// The largest batch of the published training graphs within a memory, with the proof that no larger one fits (after
// Checkmate, MLSys 2020: at most one more forward pass; parameters count twice, for values and gradients).
//
//   planner_batch FOLDER [BYTES] [SECONDS]     16e9 bytes and 1 second for each batch if not given
//
// Sizes in a file belong to the batch in its name and grow with it, and so do all costs: a batch of B within M bytes is
// the recorded one within M / B times its own. Published batches come from a program in which the batch is a fraction:
// SegNet's 62 is 61.8 rounded up (its largest operator alone takes 8.288e9 bytes at a batch of 32).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "solver/methods/solve.h"
#include "tests/solver/node_link_graph.h"

namespace onnx_mem {
namespace {

struct Network {
  const char* name;  // how its file begins
  int64_t batch;
  int64_t parameters;
  int64_t published;  // the batch that Checkmate reports
};
constexpr Network kNetworks[] = {
    {"VGG19", 256, 143667240, 289},
    {"ResNet50", 256, 25636712, 193},
    {"MobileNet", 512, 4253864, 1105},
    {"vgg_unet", 32, 0, 57},
    {"fcn_8", 32, 0, 60},
    {"segnet", 32, 0, 62},
};

// The largest batch for which `holds`, which holds for smaller ones too.
int64_t Largest(int64_t most, const std::function<bool(int64_t)>& holds) {
  int64_t low = 0;
  while (low < most) {
    const int64_t middle = low + (most - low + 1) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      most = middle - 1;
    }
  }
  return low;
}

// Everything once more up to the loss. What a forward takes of a step differs by network: costs are FLOPs in some
// files and times in others.
int64_t CostWithASecondForward(const StepGraph& graph) {
  int64_t once = 0;
  int64_t forward = 0;
  for (const StepOp& op : graph.ops) {
    if (op.name == "Loss") forward = once;
    once += op.cost;
  }
  return once + forward;
}

void Report(const Network& network, const StepGraph& graph, double bytes, double seconds) {
  const double left = bytes - 8.0 * static_cast<double>(network.parameters);
  const auto solve = [&](int64_t batch) {
    const double budget = left / static_cast<double>(batch) * static_cast<double>(network.batch);
    return *Solve(graph, static_cast<int64_t>(budget), {"auto", seconds, 0});
  };
  for (const bool one_forward : {true, false}) {
    const int64_t most_cost = one_forward ? CostWithASecondForward(graph) : INT64_MAX;
    const int64_t most = 8 * network.batch;
    const int64_t planned = Largest(most, [&](int64_t batch) {
      const Solution solution = solve(batch);
      return solution.status == SolveStatus::kFeasible && solution.cost <= most_cost;
    });
    const int64_t possible = Largest(most, [&](int64_t batch) {
      const Solution solution = solve(batch);
      return solution.status != SolveStatus::kInfeasible && solution.lower_bound <= most_cost;
    });
    std::printf("%-10s %-26s a plan up to batch %ld, none beyond %ld (published %ld)\n", network.name,
                one_forward ? "at most one more forward:" : "at any cost:", static_cast<long>(planned),
                static_cast<long>(possible), static_cast<long>(network.published));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace onnx_mem

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "planner_batch FOLDER [BYTES] [SECONDS]\n");
    return 2;
  }
  const double bytes = argc > 2 ? std::atof(argv[2]) : 16e9;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1.0;
  for (const auto& network : onnx_mem::kNetworks) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
      const std::string file = entry.path().filename().string();
      if (file.rfind(network.name, 0) != 0 || file.find("_train_") == std::string::npos) continue;
      const auto graph = onnx_mem::ReadNodeLinkGraph(entry.path().string());
      if (graph.ok()) onnx_mem::Report(network, *graph, bytes, seconds);
    }
  }
  return 0;
}
