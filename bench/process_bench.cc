// Times the program as its user does, start to answer: median and best wall time, median CPU time (which a busy machine
// disturbs least), largest resident memory, bytes read.
//
//   process_bench PROGRAM MODELS_FOLDER [RUNS]
//
// MODELS_FOLDER is testdata/models. Large models are made in a temporary folder.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/run_once.h"
#include "bench/synthetic_model.h"

namespace onnx_mem {
namespace {

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// One line of the table. False when a run failed.
bool Report(const char* name, const std::string& program, const std::vector<std::string>& arguments, int runs,
            int exit_code = 0) {
  std::vector<double> wall_seconds;
  std::vector<double> cpu_seconds;
  int64_t resident_bytes = 0, read_bytes = 0;
  for (int i = 0; i < runs; ++i) {
    const ProcessRun run = RunOnce(program, arguments);
    if (run.exit_code != exit_code) {
      std::printf("%-36s failed with exit code %d\n", name, run.exit_code);
      return false;
    }
    wall_seconds.push_back(run.wall_seconds);
    cpu_seconds.push_back(run.cpu_seconds);
    resident_bytes = std::max(resident_bytes, run.resident_bytes);
    read_bytes = run.read_bytes;
  }
  std::printf("%-36s %9.1f %9.1f %9.1f %9.1f %9.2f\n", name, 1e3 * Median(wall_seconds),
              1e3 * *std::min_element(wall_seconds.begin(), wall_seconds.end()), 1e3 * Median(cpu_seconds),
              static_cast<double>(resident_bytes) / (1 << 20), static_cast<double>(read_bytes) / (1 << 20));
  std::fflush(stdout);
  return true;
}

int Main(const std::string& program, const std::string& models, int runs) {
  std::string folder = (std::filesystem::temp_directory_path() / "onnx_mem_bench_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  const std::string heavy = folder + "/heavy.onnx";
  const std::string long_chain = folder + "/long.onnx";
  bool ok = WriteSyntheticModel({.layers = 48, .width = 4096}, heavy) &&
            WriteSyntheticModel({.layers = 5000, .width = 256, .inline_weights = false}, long_chain);
  if (!ok) std::perror("process_bench: cannot write a model");

  std::printf("%-36s %9s %9s %9s %9s %9s\n", "", "median ms", "best ms", "CPU ms", "RSS MiB", "read MiB");
  ok = ok && Report("--version", program, {"--version"}, runs);
  ok &= Report("resnet50 --batch 64", program, {models + "/resnet50.train.ts.op17.onnx", "--batch", "64"}, runs);
  ok &=
      Report("resnet50 --batch 64 -q", program, {models + "/resnet50.train.ts.op17.onnx", "--batch", "64", "-q"}, runs);
  // What does not fit, with every way to make it fit, and their largest batches.
  constexpr int kNo = 1;
  ok &= Report("fit resnet50 --batch 256 --gpu T4", program,
               {"fit", models + "/resnet50.train.ts.op17.onnx", "--batch", "256", "--gpu", "T4"}, runs, kNo);
  ok &= Report("fit vit_b_16 --batch 512 --gpu T4", program,
               {"fit", models + "/vit_b_16.train.ts.op17.onnx", "--batch", "512", "--gpu", "T4"}, runs, kNo);
  ok &= Report("compare resnet50 --batch 32,64", program,
               {"compare", models + "/resnet50.train.ts.op17.onnx", "--batch", "32,64"}, runs);
  ok &= Report("bert_base --batch 8 --dim seq=128", program,
               {models + "/bert_base.train.ts.op17.onnx", "--batch", "8", "--dim", "seq=128"}, runs);
  ok &= Report("3 GiB of inline weights, 96 nodes", program, {heavy, "--batch", "64"}, runs);
  ok &= Report("10,000 nodes", program, {long_chain, "--batch", "64"}, runs);
  std::filesystem::remove_all(folder);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace onnx_mem

int main(int argc, char** argv) {
  const int runs = argc > 3 ? std::atoi(argv[3]) : 11;
  if (argc < 3 || runs < 1) {
    std::fprintf(stderr, "usage: process_bench PROGRAM MODELS_FOLDER [RUNS]\n");
    return 2;
  }
  return onnx_mem::Main(argv[1], argv[2], runs);
}
