#include "planner/code/wrapping.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// Two stages of a loop, a head that is called twice, a sum at the root, a last layer.
constexpr char kModel[] = R"(m (float[4,8] x) => (float[4,8] y)
  <float[8,8] w0 = ["location": "none"], float[8,8] w1 = ["location": "none"], float[8,8] wh = ["location": "none"],
   float[8,8] wk = ["location": "none"]>
  { a0 = MatMul (x, w0)   a1 = Relu(a0)   b0 = MatMul (a1, w1)   b1 = Relu(b0)   c0 = MatMul (b1, wh)
    c1 = MatMul (c0, wh)   d0 = Add(c1, b1)   y = MatMul (d0, wk) })";
constexpr std::array kNodes = {"/s.0/w/MatMul", "/s.0/act/Relu", "/s.1/w/MatMul", "/s.1/act/Relu",
                               "/h/MatMul",     "/h_1/MatMul",   "/Add",          "/k/MatMul"};

Lowered LowerModel(const Run& run = {}) {
  Graph graph = ParseGraph(kModel);
  for (size_t i = 0; i < kNodes.size(); ++i) graph.nodes[NodeId(static_cast<int32_t>(i))].name = kNodes[i];
  for (Tensor& tensor : graph.tensors) {
    if (tensor.role != TensorRole::kInitializer) continue;
    const std::string last = tensor.name.substr(1);
    tensor.name = (last == "h" || last == "k" ? last : "s." + last + ".w") + ".weight";
  }
  absl::StatusOr<Lowered> lowered = Prepare(graph, run);
  if (!lowered.ok()) ADD_FAILURE() << lowered.status();
  return *std::move(lowered);
}

Wrapping Wrap(const Lowered& lowered, std::vector<std::string> modules) {
  absl::StatusOr<Wrapping> wrapping =
      WrappingOf(lowered, ModuleNodes(lowered.graph), {.modules = std::move(modules), .nodes = {}});
  if (!wrapping.ok()) ADD_FAILURE() << wrapping.status();
  return *std::move(wrapping);
}

TEST(Wrapping, AModuleThatIsCalledIsWrapped) {
  const Lowered lowered = LowerModel();
  const Wrapping wrapping = Wrap(lowered, {"s.0"});
  EXPECT_EQ(wrapping.kind, WrapKind::kModule) << wrapping.why;
  EXPECT_EQ(wrapping.calls, 1);
  EXPECT_FALSE(wrapping.random);
}

TEST(Wrapping, EachCallOfAModuleIsACheckpoint) {
  const Lowered lowered = LowerModel();
  const Wrapping wrapping = Wrap(lowered, {"h"});
  EXPECT_EQ(wrapping.kind, WrapKind::kModule) << wrapping.why;
  EXPECT_EQ(wrapping.calls, 2);
}

TEST(Wrapping, ARunIsModulesThatFollowOneAnother) {
  const Lowered lowered = LowerModel();
  const Wrapping wrapping = Wrap(lowered, {"s.1", "s.0"});
  EXPECT_EQ(wrapping.kind, WrapKind::kRun) << wrapping.why;
  EXPECT_EQ(wrapping.segment.modules, (std::vector<std::string>{"s.0", "s.1"})) << "in the order in which they run";
}

TEST(Wrapping, AListOfModulesIsNotCalled) {
  const Lowered lowered = LowerModel();
  const Wrapping wrapping = Wrap(lowered, {"s"});
  EXPECT_EQ(wrapping.kind, WrapKind::kEditForward);
  EXPECT_EQ(wrapping.why, "s is a list of modules, not called itself");
}

TEST(Wrapping, OperatorsInBetweenOrSecondReadersNeedAnEdit) {
  const Lowered lowered = LowerModel();
  EXPECT_EQ(Wrap(lowered, {"s.0", "k"}).kind, WrapKind::kEditForward);
  EXPECT_EQ(Wrap(lowered, {"s.0", "k"}).why, "'/s.1/w/MatMul' runs between s.0 and k");
  EXPECT_EQ(Wrap(lowered, {"s.1", "h"}).why, "h is called several times");
}

TEST(Wrapping, AnInPlaceOperatorAtTheEntryDestroysTheInput) {
  onnx_mem::Run run;
  run.inplace = "s.0.act";
  const Lowered lowered = LowerModel(run);
  EXPECT_EQ(Wrap(lowered, {"s.0"}).kind, WrapKind::kModule) << "what it overwrites is made again";
  const Wrapping wrapping = Wrap(lowered, {"s.0.act"});
  EXPECT_EQ(wrapping.kind, WrapKind::kEditForward);
  EXPECT_EQ(wrapping.why, "its first operator overwrites what the second run would start from");
}

TEST(Wrapping, UnknownModulesAreAnError) {
  const Lowered lowered = LowerModel();
  EXPECT_FALSE(WrappingOf(lowered, ModuleNodes(lowered.graph), {.modules = {"t"}, .nodes = {}}).ok());
}

TEST(Wrapping, AWrapperIsWhatEveryModuleStartsWith) {
  Lowered lowered = LowerModel();
  EXPECT_EQ(WrapperOf(lowered), "");
  for (FrameworkNode& node : lowered.graph.nodes) node.module = "m." + node.module;
  EXPECT_EQ(WrapperOf(lowered), "m");
}

}  // namespace
}  // namespace onnx_mem
