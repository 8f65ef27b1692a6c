// Every recorded dtype and shape of the measured models (testdata/truth.tar.xz) against the import.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/graph/dag.h"
#include "analyzer/onnx/build/import.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct RunTally {
  int runs = 0, exact_runs = 0, values = 0, exact = 0, unknown = 0, wrong = 0;
  std::vector<std::string> complaints;
};

std::string DTypeName(const std::string& recorded) {
  if (recorded == "float") return "float32";
  if (recorded == "double") return "float64";
  return recorded;
}

Bindings BindingsOf(const json& run) {
  Bindings bindings;
  for (const auto& [name, type] : run.at("inputs").items()) {
    Dims dims;
    for (const json& dim : type.at(1)) dims.push_back(dim.get<int64_t>());
    if (!dims.empty()) bindings.inputs[name] = dims;
  }
  return bindings;
}

void CheckRun(const std::string& file, const ModelFile& model, const json& run, RunTally& tally) {
  ++tally.runs;
  const auto imported = model.Import(BindingsOf(run));
  if (!imported.ok()) {
    tally.wrong += static_cast<int>(run.at("values").size());
    tally.complaints.push_back(file + ": " + DiagnosticOf(imported.status()).message);
    return;
  }
  EXPECT_TRUE(VerifyGraph(imported->graph).ok()) << file << ": " << VerifyGraph(imported->graph);
  absl::flat_hash_map<std::string, const Tensor*> tensors;
  for (const Tensor& tensor : imported->graph.tensors) tensors[tensor.name] = &tensor;
  bool all = true;
  for (const auto& [name, type] : run.at("values").items()) {
    if (type.at(1).is_null()) continue;  // a sequence or map
    ++tally.values;
    Dims want;
    for (const json& dim : type.at(1)) want.push_back(dim.get<int64_t>());
    const auto it = tensors.find(name);
    const bool known = it != tensors.end() && it->second->shape.known() && !it->second->upper_bound;
    const bool exact = known && it->second->shape.dims == want &&
                       NameOf(it->second->dtype) == DTypeName(type.at(0).get<std::string>());
    all &= exact;
    tally.exact += exact;
    if (exact) continue;
    ++(known ? tally.wrong : tally.unknown);
    if (tally.complaints.size() < 20) {
      tally.complaints.push_back(file + ": " + name + " want " + type.dump() + ", got " +
                                 (it == tensors.end()
                                      ? "nothing"
                                      : std::string(NameOf(it->second->dtype)) + " " + ToString(it->second->shape) +
                                            (it->second->upper_bound ? " at most" : "")));
    }
  }
  tally.exact_runs += all;
}

RunTally CheckFolder(const fs::path& shapes, const fs::path& models) {
  RunTally tally;
  std::vector<fs::path> records;
  for (const auto& entry : fs::directory_iterator(shapes)) records.push_back(entry.path());
  std::sort(records.begin(), records.end());
  for (const fs::path& record : records) {
    const std::string file = record.stem().string() + ".onnx";
    const auto model = ModelFile::Open((models / file).string());
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) continue;
    const json recorded = json::parse(std::ifstream(record));
    for (const json& run : recorded.at("runs")) CheckRun(file, *model, run, tally);
  }
  std::string text;
  for (const std::string& complaint : tally.complaints) text += "\n  " + complaint;
  EXPECT_GT(tally.values, 0);
  std::cout << tally.exact_runs << " of " << tally.runs << " runs, " << tally.exact << " of " << tally.values
            << " values exact, " << tally.unknown << " unknown, " << tally.wrong << " wrong" << text << "\n";
  return tally;
}

fs::path Truth() { return ONNX_MEM_UNPACKED_DIR "/truth"; }

TEST(ShapeTruth, ExportsAreExact) {
  const RunTally tally = CheckFolder(Truth() / "shapes", Truth() / "models");
  EXPECT_EQ(tally.exact, tally.values);
}

// Sizes that depend on data may be unknown or an upper bound, never wrong.
TEST(ShapeTruth, FilesMadeByOthersAreNeverWrong) {
  const RunTally tally = CheckFolder(Truth() / "wild" / "shapes", Truth() / "wild" / "models");
  EXPECT_EQ(tally.wrong, 0);
}

}  // namespace
}  // namespace onnx_mem
