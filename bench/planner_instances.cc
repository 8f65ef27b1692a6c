// Solves the recorded instances, or published graphs, and says how far the plans are from what is known.
//
//   planner_instances instances FOLDER [SECONDS]     each file with its recorded budgets and best costs
//   planner_instances published FOLDER [SECONDS]     node-link graphs, at 90 to 40 % of the peak of keeping everything
//
// The data lies in testdata/step_graphs.tar.xz.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "solver/methods/solve.h"
#include "solver/problem/instance.h"
#include "tests/solver/node_link_graph.h"

namespace onnx_mem {
namespace {

struct Tally {
  int questions = 0;
  int within = 0;  // 0.5 % of the best known cost
  int certified = 0;
  int certified_soon = 0;  // in half a second
};

struct Timed {
  Solution solution;
  double seconds = 0;  // of CPU time
};

Timed SolveTimed(const StepGraph& graph, int64_t budget, double seconds) {
  const std::clock_t start = std::clock();
  const auto solution = Solve(graph, budget, {"auto", seconds, 0});
  Timed timed;
  if (solution.ok()) timed.solution = *solution;
  timed.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return timed;
}

const char* NameOf(const Solution& solution) {
  if (solution.status == SolveStatus::kInfeasible) return "impossible";
  if (solution.status == SolveStatus::kUnknown) return "no plan";
  return solution.optimal ? "optimal" : "plan";
}

void Count(const Timed& timed, bool good, Tally& tally) {
  const bool certain = timed.solution.optimal || timed.solution.status == SolveStatus::kInfeasible;
  ++tally.questions;
  tally.within += good ? 1 : 0;
  tally.certified += certain ? 1 : 0;
  tally.certified_soon += certain && timed.seconds < 0.5 ? 1 : 0;
}

void SolveInstance(const std::filesystem::path& path, double seconds, Tally& tally) {
  const auto graph = ReadInstance(path.string());
  if (!graph.ok()) return;
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  for (const auto& known : json["solutions"]) {
    const Timed timed = SolveTimed(*graph, known["budget"].get<int64_t>(), seconds);
    const auto best = known["best_cost"].get<int64_t>();
    const bool good = timed.solution.status == SolveStatus::kFeasible && timed.solution.cost * 1000 <= best * 1005;
    Count(timed, good, tally);
    std::printf("%-24s %8ld: %-10s cost %ld (best known %ld), bound %ld, %s, %.2f s\n", path.stem().c_str(),
                known["budget"].get<long>(), NameOf(timed.solution), static_cast<long>(timed.solution.cost),
                static_cast<long>(best), static_cast<long>(timed.solution.lower_bound), timed.solution.method.c_str(),
                timed.seconds);
  }
}

void SolvePublished(const std::filesystem::path& path, double seconds, Tally& tally) {
  const auto graph = ReadNodeLinkGraph(path.string());
  if (!graph.ok()) return;
  const Solution all = *Solve(*graph, int64_t{1} << 60, {});
  const auto percent = [&](int64_t cost) {
    return 100.0 * static_cast<double>(cost - all.cost) / static_cast<double>(all.cost);
  };
  for (int part : {90, 80, 70, 60, 50, 40}) {
    const auto budget = static_cast<int64_t>(static_cast<double>(all.peak_bytes) * part / 100);
    const Timed timed = SolveTimed(*graph, budget, seconds);
    Count(timed, timed.solution.status != SolveStatus::kUnknown, tally);
    std::printf("%-52s %4zu operators at %d %%: %-10s +%.3f %%, proven +%.3f %%, %s, %.2f s\n", path.stem().c_str(),
                graph->ops.size(), part, NameOf(timed.solution), percent(timed.solution.cost),
                percent(std::max(timed.solution.lower_bound, all.cost)), timed.solution.method.c_str(), timed.seconds);
  }
}

}  // namespace
}  // namespace onnx_mem

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "planner_instances instances|published FOLDER [SECONDS]\n");
    return 2;
  }
  const bool published = std::string(argv[1]) == "published";
  const double seconds = argc > 3 ? std::atof(argv[3]) : 2.0;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    const std::string name = entry.path().filename().string();
    const bool inference = name.find("_test_") != std::string::npos;
    if (entry.path().extension() == ".json" && !inference) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  onnx_mem::Tally tally;
  for (const auto& path : paths) {
    published ? onnx_mem::SolvePublished(path, seconds, tally) : onnx_mem::SolveInstance(path, seconds, tally);
  }
  std::printf("%d questions: %d %s, %d certified, %d of them within 0.5 s\n", tally.questions, tally.within,
              published ? "answered" : "within 0.5 % of the best known", tally.certified, tally.certified_soon);
  return 0;
}
