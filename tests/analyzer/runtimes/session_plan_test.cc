#include "analyzer/runtimes/session_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

SessionRules OverwritingRules() {
  SessionRules rules;
  rules.is_view = [](const Node& node) { return node.op == "Reshape"; };
  rules.overwritable = [](const Node& node) { return node.op == "Relu" ? std::vector<int>{0} : std::vector<int>(); };
  return rules;
}

// "a [0, 3)" per activation buffer.
std::vector<std::string> ActivationLives(const MemoryProgram& program) {
  std::vector<std::string> lives;
  for (const Buffer& b : program.buffers) {
    if (b.category != Category::kTransientActivations) continue;
    lives.push_back(b.name.str() + " [" + std::to_string(b.begin.value()) + ", " + std::to_string(b.end.value()) + ")");
  }
  return lives;
}

using Lines = std::vector<std::string>;

TEST(PlanSession, SharesByShapeAndKeepsIdleSpans) {
  const Graph graph = ParseGraph(R"(g (float[8,4] x) => (float[8,4] y)
      <float[4,16] w1 = ["location": "none"], float[16,32] w2 = ["location": "none"],
       float[32,16] w3 = ["location": "none"], float[16,4] w4 = ["location": "none"]>
      { a = MatMul(x, w1)  b = Relu(a)  c = MatMul(b, w2)  d = MatMul(c, w3)  y = MatMul(d, w4) })");
  // b is written over a; d takes the buffer of a, which was idle at step 3 only by then: one buffer over [0, 5).
  EXPECT_EQ(ActivationLives(PlanSession(graph, OverwritingRules())), (Lines{"a [0, 5)", "c [2, 4)", "y [4, 5)"}));
}

TEST(PlanSession, DoesNotWriteOverWhatIsReadAgain) {
  const Graph graph = ParseGraph(R"(g (float[8,4] x) => (float[8,4] y)
      <float[4,4] w = ["location": "none"]> { a = MatMul(x, w)  b = Relu(a)  y = Add(a, b) })");
  EXPECT_EQ(ActivationLives(PlanSession(graph, OverwritingRules())), (Lines{"a [0, 3)", "b [1, 3)", "y [2, 3)"}));
}

TEST(PlanSession, AnOutputHasItsOwnBuffer) {
  const Graph graph = ParseGraph(R"(g (float[8,4] x) => (float[8,4] y)
      <float[4,4] w = ["location": "none"]> { a = MatMul(x, w)  y = Relu(a) })");
  EXPECT_EQ(ActivationLives(PlanSession(graph, OverwritingRules())), (Lines{"a [0, 2)", "y [1, 2)"}));
}

// The branch that stands last in the file runs first.
TEST(PlanSession, RunsInTheSessionsOrder) {
  const Graph graph = ParseGraph(R"(g (float[8,4] x) => (float[8,4] y)
      <float[4,4] w = ["location": "none"]>
      { [first] a = MatMul(x, w)  [second] b = MatMul(x, w)  [sum] y = Add(a, b) })");
  const MemoryProgram program = PlanSession(graph, OverwritingRules());
  Lines order;
  for (const Step& step : program.steps) order.push_back(step.node);
  EXPECT_EQ(order, (Lines{"second", "first", "sum"}));
}
}  // namespace
}  // namespace onnx_mem
