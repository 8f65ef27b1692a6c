// optimizer.step() against what PyTorch took: testdata/measured/optimizers.json, written by measure_optimizers.py.
#include "analyzer/eager/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/memory/timeline.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

Json Measured() {
  std::ifstream in(ONNX_MEM_SOURCE_DIR "/testdata/measured/optimizers.json");
  return Json::parse(in, nullptr, /*allow_exceptions=*/false);
}

std::vector<TrainedParameter> ParametersOf(const Json& rows) {
  std::vector<TrainedParameter> parameters;
  for (const Json& row : rows) {
    TrainedParameter p;
    p.name = row["name"];
    p.dtype = row["dtype"] == "float16" ? DType::kFloat16 : DType::kFloat32;
    p.dims = row["shape"].get<Dims>();
    p.elements = 1;
    for (const int64_t dim : p.dims) p.elements *= dim;
    p.bytes = p.elements * (p.dtype == DType::kFloat16 ? 2 : 4);
    parameters.push_back(std::move(p));
  }
  return parameters;
}

// "adam weight-decay" in the form "for-loop".
Optimizer OptimizerOf(const Json& row) {
  std::string name = row["optimizer"];
  const size_t space = name.find(' ');
  Optimizer optimizer = *ParseOptimizer(name.substr(0, space));
  optimizer.weight_decay = space != std::string::npos;
  for (const OptimizerImplementation one :
       {OptimizerImplementation::kForeach, OptimizerImplementation::kForLoop, OptimizerImplementation::kFused}) {
    if (row["implementation"] == NameOf(one)) optimizer.implementation = one;
  }
  return optimizer;
}

MemoryProgram StepAlone(const std::vector<TrainedParameter>& parameters, const Optimizer& optimizer, bool first_step) {
  MemoryProgram nothing_before;
  nothing_before.steps.Add({});
  return WithOptimizer(nothing_before, parameters, optimizer, first_step);
}

int64_t StateBytes(const MemoryProgram& program) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.category == Category::kOptimizerState) bytes += buffer.bytes;
  }
  return bytes;
}

// A step with a backward before it, for every optimizer in each of its forms: step 2 made of step 1 is step 2 made
// anew.
TEST(OptimizerTest, StepOneBecomesStepTwo) {
  const std::vector<TrainedParameter> parameters = {{"a", 65536, 16384, {128, 128}, DType::kFloat32},
                                                    {"b", 256, 64, {64}, DType::kFloat32}};
  MemoryProgram trace;
  trace.steps.Add({});
  trace.steps.Add({});
  const auto add = [&](const char* name, Category category, int64_t bytes, int32_t end) {
    Buffer buffer;
    buffer.name = name;
    buffer.category = category;
    buffer.bytes = bytes;
    buffer.begin = StepId(0);
    buffer.end = StepId(end);
    trace.buffers.Add(std::move(buffer));
  };
  add("a", Category::kParameters, 65536, 2);
  add("y", Category::kTransientActivations, 100000, 1);
  for (const std::string& name : OptimizerNames()) {
    for (const auto implementation : {OptimizerImplementation::kForeach, OptimizerImplementation::kForLoop}) {
      for (const auto& [weight_decay, average] : {std::pair(false, false), {true, false}, {true, true}}) {
        SCOPED_TRACE(name + " " + std::string(NameOf(implementation)) + (weight_decay ? " weight decay" : "") +
                     (average ? " average" : ""));
        Optimizer optimizer = *ParseOptimizer(name);
        optimizer.implementation = implementation;
        optimizer.weight_decay = weight_decay;
        optimizer.averages_model = average;
        const MemoryProgram first = WithOptimizer(trace, parameters, optimizer, /*first_step=*/true);
        const MemoryProgram later = WithOptimizer(trace, parameters, optimizer, /*first_step=*/false);
        EXPECT_EQ(DumpProgram(LaterStep(first, parameters, optimizer)), DumpProgram(later));
        EXPECT_EQ(LaterStepPeak(trace, parameters, optimizer), ComputeTimeline(later).peak_bytes);
      }
    }
  }
}

TEST(OptimizerTest, EveryMeasuredStepIsOursToTheByte) {
  const Json measured = Measured();
  ASSERT_TRUE(measured.is_object());
  std::map<std::string, std::vector<TrainedParameter>> networks;
  for (const auto& [name, rows] : measured["networks"].items()) networks[name] = ParametersOf(rows);
  int compared = 0;
  for (const Json& row : measured["steps"]) {
    SCOPED_TRACE(row.dump());
    const Optimizer optimizer = OptimizerOf(row);
    ASSERT_TRUE(CheckImplementation(optimizer).ok());
    const auto& parameters = networks.at(row["network"].get<std::string>());
    const MemoryProgram first = StepAlone(parameters, optimizer, true), later = StepAlone(parameters, optimizer, false);
    EXPECT_EQ(StateBytes(later), row["state_bytes"].get<int64_t>());
    EXPECT_EQ(ComputeTimeline(first).peak_bytes, row["first_peak_bytes"].get<int64_t>());
    EXPECT_EQ(ComputeTimeline(later).peak_bytes, row["peak_bytes"].get<int64_t>());
    EXPECT_EQ(DumpProgram(LaterStep(first, parameters, optimizer)), DumpProgram(later));
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

TEST(OptimizerTest, WhatHasNoFusedFormWasNotMeasuredFused) {
  const Json measured = Measured();
  std::map<std::string, bool> fused;
  for (const Json& row : measured["steps"]) {
    fused[row["optimizer"]] |= row["implementation"] == "fused";
  }
  for (const std::string& name : OptimizerNames()) {
    if (name == "none") continue;
    ASSERT_TRUE(fused.contains(name)) << name << " was not measured";
    Optimizer optimizer = *ParseOptimizer(name);
    optimizer.implementation = OptimizerImplementation::kFused;
    EXPECT_EQ(CheckImplementation(optimizer).ok(), fused[name]) << name;
  }
}

// torch/optim/adam.py: "Deliberately host `step` on CPU if both capturable and fused are off".
TEST(OptimizerTest, TheCountOfStepsIsOnTheDeviceOnlyWhereAFusedKernelReadsIt) {
  const std::vector<TrainedParameter> parameters = {{"w", 65536, 16384, {128, 128}, DType::kFloat32}};
  Optimizer adam = *ParseOptimizer("adam");
  const auto on_cpu = [&] {
    std::string names;
    for (const Buffer& buffer : StepAlone(parameters, adam, false).buffers)
      names += buffer.on_cpu ? buffer.name.str() : "";
    return names;
  };
  EXPECT_EQ(on_cpu(), "w.step");
  adam.implementation = OptimizerImplementation::kFused;
  EXPECT_EQ(on_cpu(), "");
}

TEST(OptimizerTest, ANumberIsBytesOfStatePerParameter) {
  std::vector<TrainedParameter> parameters(1);
  parameters[0].elements = 10;
  parameters[0].bytes = 40;
  EXPECT_EQ(StateBytes(StepAlone(parameters, *ParseOptimizer("2.5"), false)), 25);
  EXPECT_FALSE(ParseOptimizer("-1").ok());
  EXPECT_FALSE(ParseOptimizer("adma").ok());
}

TEST(ParseOptimizerTest, NamesAreThoseOfTheLibrariesAndOfTheTrainer) {
  const std::pair<const char*, const char*> names[] = {
      {"torch.optim.Muon", "muon"},           {"AdamW8bit", "adam8bit"},
      {"adamw_bnb_8bit", "adam8bit"},         {"PagedAdamW32bit", "paged-adam"},
      {"paged_adamw_8bit", "paged-adam8bit"}, {"lion_32bit", "lion"},
      {"PagedLion8bit", "paged-lion8bit"},    {"lion_8bit", "lion8bit"}};
  for (const auto& [word, name] : names) EXPECT_EQ(ParseOptimizer(word)->name, name) << word;
}

TEST(ParseOptimizerTest, MoreBytesThanAnyKeepsAreNoOptimizer) {
  EXPECT_TRUE(ParseOptimizer("12").ok());
  EXPECT_FALSE(ParseOptimizer("9223372036854775807").ok());
  EXPECT_FALSE(ParseOptimizer("inf").ok());
  EXPECT_FALSE(ParseOptimizer("nan").ok());
}

}  // namespace
}  // namespace onnx_mem
