// How CPU time and memory grow with the nodes of a graph, from 1,000 to a million.
//
//   scale_bench PROGRAM [MOST_NODES]
//
// For each form of synthetic_model.h: `PROGRAM FILE -b 8 -q`, training and inference, for each power of ten up to
// MOST_NODES (1,000,000); the exponent is that of the straight line through log nodes and log seconds. Below it the
// default screen, up to 10,000 nodes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bench/run_once.h"
#include "bench/synthetic_model.h"

namespace onnx_mem {
namespace {

struct Form {
  const char* name;
  SyntheticForm form;
  int64_t nodes_per_layer;
};

constexpr Form kForms[] = {
    {"chain with residuals", SyntheticForm::kResidual, 3},
    {"transformer stack", SyntheticForm::kTransformer, 15},
    {"wide", SyntheticForm::kWide, 2},
};

using Points = std::vector<std::pair<double, double>>;  // log nodes, log seconds

// Slope of the line with the least squares.
double Exponent(const Points& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [nodes, seconds] : points) {
    x += nodes;
    y += seconds;
    xx += nodes * nodes;
    xy += nodes * seconds;
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

// The run with the least CPU time of a few: what other work on the machine adds is no property of the program.
ProcessRun Best(const std::string& program, const std::vector<std::string>& arguments, int runs) {
  ProcessRun best = RunOnce(program, arguments);
  for (int i = 1; i < runs && best.exit_code == 0; ++i) {
    const ProcessRun run = RunOnce(program, arguments);
    if (run.cpu_seconds < best.cpu_seconds) best = run;
  }
  return best;
}

bool Report(const Form& form, const std::string& program, const std::string& folder, int64_t most, bool quiet) {
  Points points;
  for (int64_t nodes = 1000; nodes <= most; nodes *= 10) {
    const std::string path = folder + "/scale.onnx";
    const SyntheticModel model{form.form, nodes / form.nodes_per_layer, 64, /*inline_weights=*/false};
    if (!WriteSyntheticModel(model, path)) {
      std::perror("scale_bench: cannot write a model");
      return false;
    }
    std::vector<std::string> arguments = {path, "-b", "8"};
    if (quiet) arguments.emplace_back("-q");
    const ProcessRun run = Best(program, arguments, nodes <= 10'000 ? 3 : 1);
    if (run.exit_code != 0) {
      std::printf("%-22s %9lld failed with exit code %d\n", form.name, static_cast<long long>(nodes), run.exit_code);
      return false;
    }
    std::printf("%-22s %9lld %10.3f %10.1f\n", form.name, static_cast<long long>(nodes), run.cpu_seconds,
                static_cast<double>(run.resident_bytes) / (1 << 20));
    std::fflush(stdout);
    points.emplace_back(std::log(static_cast<double>(nodes)), std::log(run.cpu_seconds));
  }
  if (points.size() > 1) std::printf("%-22s  exponent %10.3f\n", form.name, Exponent(points));
  return true;
}

int Main(const std::string& program, int64_t most) {
  std::string folder = (std::filesystem::temp_directory_path() / "onnx_mem_bench_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  bool ok = true;
  for (const bool quiet : {true, false}) {
    std::printf("%-22s %9s %10s %10s\n", quiet ? "-q" : "default screen", "nodes", "CPU s", "RSS MiB");
    constexpr int64_t kMostOfScreen = 10'000;
    const int64_t largest = quiet ? most : std::min(most, kMostOfScreen);
    for (const Form& form : kForms) ok &= Report(form, program, folder, largest, quiet);
  }
  std::filesystem::remove_all(folder);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace onnx_mem

int main(int argc, char** argv) {
  const long long most = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  if (argc < 2 || most < 1000) {
    std::fprintf(stderr, "usage: scale_bench PROGRAM [MOST_NODES]\n");
    return 2;
  }
  return onnx_mem::Main(argv[1], most);
}
