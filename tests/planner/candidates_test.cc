#include "planner/measure/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/analysis/segments.h"
#include "analyzer/onnx/build/import.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

CandidateSet Find(std::string_view text, const std::vector<std::string>& nodes) {
  Graph graph = ParseGraph(text);
  for (size_t i = 0; i < nodes.size(); ++i) graph.nodes[NodeId(static_cast<int32_t>(i))].name = nodes[i];
  absl::StatusOr<Lowered> lowered = Prepare(graph, Run{});
  if (!lowered.ok()) ADD_FAILURE() << lowered.status();
  return FindCandidates(*lowered);
}

std::vector<std::string> Labels(const CandidateSet& set) {
  std::vector<std::string> labels;
  for (const Candidate& candidate : set.list) labels.push_back(candidate.label);
  std::sort(labels.begin(), labels.end());
  return labels;
}

using Names = std::vector<std::string>;

constexpr char kChain[] = R"(m (float[4,8] x) => (float[4,8] y)
  <float[8,8] w0 = ["location": "none"], float[8,8] w1 = ["location": "none"], float[8,8] w2 = ["location": "none"]>
  { a = MatMul (x, w0)   b = Relu(a)   c = MatMul (b, w1)   d = Relu(c)   e = MatMul (d, w2)   y = Relu(e) })";

TEST(FindCandidates, ChildrenOfASequentialAndTheirRuns) {
  const CandidateSet set = Find(kChain, {"/s/s.0/w/MatMul", "/s/s.0/act/Relu", "/s/s.1/w/MatMul", "/s/s.1/act/Relu",
                                         "/s/s.2/w/MatMul", "/s/s.2/act/Relu"});
  EXPECT_TRUE(set.by_module);
  EXPECT_EQ(Labels(set), (Names{"s", "s.0", "s.0-1", "s.1", "s.1-2", "s.2"}));
}

// s.2 is a Dropout(0.0), which leaves no node: the run holds it, as the model does (applied.py).
TEST(FindCandidates, AChildWithoutOperatorsLiesWithinARun) {
  const CandidateSet set = Find(kChain, {"/s/s.0/w/MatMul", "/s/s.0/act/Relu", "/s/s.1/w/MatMul", "/s/s.1/act/Relu",
                                         "/s/s.3/w/MatMul", "/s/s.3/act/Relu"});
  const Names labels = Labels(set);
  ASSERT_EQ(std::count(labels.begin(), labels.end(), "s.1-3"), 1);
  const auto run =
      std::find_if(set.list.begin(), set.list.end(), [](const Candidate& c) { return c.label == "s.1-3"; });
  EXPECT_EQ(run->segment.modules, (Names{"s.1", "s.3"}));
}

TEST(FindCandidates, ItemsOfAListAreWrappedOneByOne) {
  const CandidateSet set = Find(
      kChain, {"/l.0/w/MatMul", "/l.0/act/Relu", "/l.1/w/MatMul", "/l.1/act/Relu", "/l.2/w/MatMul", "/l.2/act/Relu"});
  EXPECT_EQ(Labels(set), (Names{"l.0", "l.1", "l.2"}));
  EXPECT_TRUE(std::all_of(set.list.begin(), set.list.end(), [](const Candidate& c) { return c.is_block; }));
}

TEST(FindCandidates, WithoutModulesRunsBetweenNarrowPoints) {
  const CandidateSet set = Find(kChain, {"n0", "n1", "n2", "n3", "n4", "n5"});
  EXPECT_FALSE(set.by_module);
  EXPECT_FALSE(set.list.empty());
  for (const Candidate& candidate : set.list) {
    EXPECT_TRUE(candidate.segment.modules.empty());
    EXPECT_EQ(candidate.segment.nodes.size(), size_t{2});
  }
}

TEST(FindCandidates, AModuleWhoseNodesAreNotTogetherIsNone) {
  const CandidateSet set =
      Find(kChain, {"/l.0/w/MatMul", "/l.0/act/Relu", "/l.1/w/MatMul", "/Relu", "/l.1/v/MatMul", "/l.2/Relu"});
  EXPECT_EQ(Labels(set), (Names{"l.0"}));
}

// An in-place ReLU behind a layer of another segment leaves nothing to start a second run from. A BatchNorm's counter,
// which a record shows, is no such thing.
TEST(FindCandidates, EachCanRunAgain) {
  for (const char* name : {"models/alexnet.train.ts.op17.onnx", "models/unet_seg.train.ts.op17.onnx",
                           "models/mobilenet_v2.train.ts.op17.onnx", "records/resnet18.eager"}) {
    SCOPED_TRACE(name);
    const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/" + name);
    ASSERT_TRUE(file.ok()) << file.status();
    onnx_mem::Run run;
    run.training = true;
    const auto lowered = Prepare(file->Import({})->graph, run);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    const CandidateSet set = FindCandidates(*lowered);
    EXPECT_FALSE(set.list.empty());
    for (const Candidate& candidate : set.list) {
      EXPECT_FALSE(EffectsOfRerun(lowered->graph, {candidate.first, candidate.last}).overwrites_inputs)
          << candidate.label;
    }
  }
}

}  // namespace
}  // namespace onnx_mem
