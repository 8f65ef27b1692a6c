// What a checkpoint's second run computes beside what the first did.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"
#include "analyzer/analysis/enact.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// torch 2.15 on the CPU, autocast to bfloat16, checkpoint(Sequential(Linear, ReLU, Linear), use_reentrant=False): the
// dispatched calls of the second run that make a tensor of their own.
TEST(SecondRun, EntersAutocastAnew) {
  const Graph graph = ParseGraph(R"(mlp (float[4,8] x) => (float[4,8] y)
    <float[16,8] w1 = ["location": "none"], float[16] b1 = ["location": "none"],
     float[8,16] w2 = ["location": "none"], float[8] b2 = ["location": "none"]>
    { [fc1] h = Gemm <transB=1> (x, w1, b1)   [act] r = Relu (h)   [fc2] y = Gemm <transB=1> (r, w2, b2) })");
  onnx_mem::Run run;
  run.autocast = DType::kBFloat16;
  Segment segment;
  segment.nodes = {"fc1", "act", "fc2"};
  run.segments = {segment};
  const absl::StatusOr<Enacted> enacted = Enact(graph, run);
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  std::vector<std::string> calls;
  for (const Step& step : enacted->program.steps) {
    if (!step.recompute) continue;
    calls.emplace_back(step.op.str());
    EXPECT_EQ(step.dtype, DType::kBFloat16) << step.op.str();
  }
  EXPECT_EQ(absl::StrJoin(calls, " "), "_to_copy _to_copy _to_copy addmm relu _to_copy _to_copy");
}

}  // namespace
}  // namespace onnx_mem
