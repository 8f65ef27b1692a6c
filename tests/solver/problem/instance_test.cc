#include "solver/problem/instance.h"

#include "absl/strings/str_replace.h"
#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

constexpr char kSmall[] = R"({"format": "om1", "name": "small", "base": 3,
 "tensors": [{"id": 0, "name": "x", "size": 0, "kind": "input"}, {"id": 1, "name": "a", "size": 64, "kind": "act"},
             {"id": 2, "name": "d", "size": 32, "kind": "grad"}, {"id": 3, "name": "w", "size": 8, "kind": "pgrad"}],
 "ops": [{"id": 0, "name": "F", "kind": "fwd", "cost": 5, "work": 1, "in": [[0]], "out": [1], "group": "g"},
         {"id": 1, "name": "B", "kind": "bwd", "cost": 9, "work": 0, "in": [[1, 0]], "out": [2, 3]}]})";

TEST(InstanceTest, ReadsEveryField) {
  const auto graph = ParseInstance(kSmall);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->name, "small");
  EXPECT_EQ(graph->base_bytes, 3);
  ASSERT_EQ(graph->tensors.size(), 4u);
  EXPECT_EQ(graph->tensors[StepTensorId(2)], (StepTensor{"d", 32, StepTensorKind::kGradient}));
  EXPECT_EQ(graph->tensors[StepTensorId(3)].kind, StepTensorKind::kParameterGradient);
  ASSERT_EQ(graph->ops.size(), 2u);
  EXPECT_EQ(graph->ops[StepOpId(0)],
            (StepOp{"F", StepOpKind::kForward, 5, 1, {{StepTensorId(0)}}, {StepTensorId(1)}, "g"}));
  EXPECT_EQ(graph->ops[StepOpId(1)].inputs.front(), (std::vector<StepTensorId>{StepTensorId(1), StepTensorId(0)}));
}

struct Broken {
  const char* from;
  const char* to;
  const char* code;
  const char* message;
};

TEST(InstanceTest, NamesWhatIsWrong) {
  const Broken cases[] = {
      {"\"om1\"", "\"om2\"", "bad-instance", "format: expected \"om1\", not \"om2\""},
      {"\"base\": 3", "\"base\": -3", "bad-instance", "base: expected a whole number from 0 to 2^63 - 1"},
      {"\"base\": 3,", "", "bad-instance", "base: expected a value, but there is none"},
      {"\"size\": 64", "\"size\": 6.5", "bad-instance", "tensors[1].size: expected a whole number from 0 to 2^63 - 1"},
      {"\"id\": 1, \"name\": \"a\"", "\"id\": 4, \"name\": \"a\"", "bad-instance",
       "tensors[1].id: expected 1 (ids are positions)"},
      {"\"pgrad\"", "\"weight\"", "bad-instance", "tensors[3].kind: expected input, act, grad or pgrad"},
      {"\"bwd\"", "\"backward\"", "bad-instance", "ops[1].kind: expected fwd, bwd or ordered"},
      {"[[1, 0]]", "[[1, 7]]", "bad-instance", "ops[1].in[0][1]: expected a tensor id below 4"},
      {"[[1, 0]]", "[1, 0]", "bad-instance", "ops[1].in[0]: expected a list"},
      {"[[1, 0]]", "[[]]", "bad-instance", "operator 'B': an input without a tensor"},
      {"\"out\": [2, 3]", "\"out\": [2, 2]", "bad-instance", "operator 'B' writes tensor 'd' twice"},
      {"\"out\": [1]", "\"out\": [0]", "bad-instance", "operator 'F' reads tensor 'x', which it writes"},
      {"\"group\": \"g\"", "\"group\": 5", "bad-instance", "ops[0].group: expected a string"},
      {"\"format\"", "format", "bad-json", "not JSON: reading stopped at byte 3"},
  };
  for (const Broken& broken : cases) {
    const std::string text = absl::StrReplaceAll(kSmall, {{broken.from, broken.to}});
    ASSERT_NE(text, kSmall) << broken.from;
    const absl::Status status = ParseInstance(text).status();
    EXPECT_EQ(CodeOf(DiagnosticOf(status)), broken.code) << broken.to;
    EXPECT_EQ(std::string(status.message()), broken.message) << broken.to;
  }
  EXPECT_EQ(ParseInstance("[]").status().message(), "top level: expected an object");
  EXPECT_EQ(DiagnosticOf(ReadInstance("no/such/file.json").status()).code, Code::kNotFound);
}

}  // namespace
}  // namespace onnx_mem
