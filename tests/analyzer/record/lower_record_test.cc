#include "analyzer/record/lower/lower_record.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/eager/engine/op_table.h"
#include "analyzer/graph/dag.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/record/aten/table.h"
#include "analyzer/record/format/text.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

constexpr char kHead[] = "eager 1\ntorch 2.15.0\nprogram train\n";

BoundRecord Bound(const std::string& lines, int64_t batch = 2) {
  absl::StatusOr<record::Record> record = record::ParseRecord(absl::StrCat(kHead, lines, "tree 1\n"));
  EXPECT_TRUE(record.ok()) << record.status();
  return {.record = std::make_shared<const record::Record>(*std::move(record)), .place = {.batch = batch}};
}

Lowered LowerLines(const std::string& lines, const onnx_mem::Run& run = {}) {
  absl::StatusOr<Lowered> lowered = LowerRecord(Bound(lines), run);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered.ok() ? *std::move(lowered) : Lowered();
}

int32_t ReleaseOf(const Lowered& lowered, const std::string& name) {
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (lowered.graph.tensors[id].name == name) return lowered.releases[id];
  }
  return -2;
}

constexpr char kLayer[] =
    "%0 param fc.weight f32[4,8]\n%1 param fc.bias f32[4] frozen\n%2 input x f32[B,8]\ncall fc\n"
    "  %3 f32[8,4]/[1,8] ^%0 = t %0\n  %4 f32[B,4] = addmm %1 %2 %3 drop %3\nret\n%4 = relu_ %4\n"
    "%5 f32[B] = sum.dim_IntList %4 [1] drop %4\nreturn %5\n";

// The power iteration of a spectral norm: the buffer is written over, and no tensor is made.
TEST(LowerRecord, WhatACallWithOutWritesOverIsNoNewTensor) {
  const Lowered lowered = LowerLines(
      "%0 buffer v f32[8]\n%1 input x f32[B,8]\ngrad off\n%2 f32[8] = sum.dim_IntList %1 [0]\n"
      "%3 f32[8] = exp %2\n%0 = div.out %2 %3 out=%0 drop %2 %3\ngrad on\n%4 f32[B,8] = mul.Tensor %1 %0\nreturn %4\n");
  EXPECT_EQ(DumpGraph(lowered.graph),
            "input x float32 2x8\n"
            "initializer v float32 8\n"
            "sum.dim_IntList:7 = sum(x) -> %2 float32 8\n"
            "exp:8 = exp(%2) -> %3 float32 8\n"
            "div.out:9 = copy(v, %2) -> v.2 float32 8\n"
            "mul.Tensor:11 = mul(x, v.2) -> %4 float32 2x8\n"
            "outputs %4\n");
}

// F.scaled_dot_product_attention(q, k, v, dropout_p=0.1), F.dropout(x, 0.1): what they drop does not ask for the mode.
TEST(LowerRecord, ADropoutThatTheCodeTurnsOnDropsInInferenceToo) {
  onnx_mem::Run run;
  run.training = false;
  const Lowered lowered = LowerLines(
      "%0 input x f32[B,8]\n%1 f32[B,8] = exp %0\n%2 f32[B,8], %3 b8[B,8] = native_dropout %1 0.1 T drop %1 %3\n"
      "return %2\n",
      run);
  const absl::StatusOr<Enacted> enacted = EnactLowered(lowered, run);
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  constexpr int64_t kElements = 2 * 8;
  EXPECT_EQ(ComputeTimeline(enacted->program).peak_bytes, kElements * (4 + 4 + 4 + 1))
      << "x, exp, what is dropped of it, and the mask";
}

// A cell that keeps its state as a buffer: what the call before left is freed where this one replaces it.
TEST(LowerRecord, AReplacedBufferIsReleased) {
  const Lowered lowered = LowerLines(
      "%0 buffer state f32[B,8]\n%1 input x f32[B,8]\n%2 f32[B,8] = exp %1\n%3 f32[B,8] = neg %1 drop %0\n"
      "%4 f32[B,8] = add.Tensor %2 %3 drop %3\nreturn %4\n");
  EXPECT_EQ(ReleaseOf(lowered, "state"), 1);
  EXPECT_EQ(ReleaseOf(lowered, "%2"), 3);  // the new state: to the end
}

TEST(LowerRecord, GivesTheOperatorsThatRan) {
  const Lowered lowered = LowerLines(kLayer);
  EXPECT_EQ(DumpGraph(lowered.graph),
            "input x float32 2x8\n"
            "initializer fc.weight float32 4x8\n"
            "initializer fc.bias float32 4\n"
            "t:8 = permute(fc.weight) -> %3 float32 8x4\n"
            "addmm:9 = addmm(x, %3, fc.bias) -> %4 float32 2x4\n"
            "relu_:11 = relu(%4) -> %4.2 float32 2x4\n"
            "sum.dim_IntList:12 = sum(%4.2) -> %5 float32 2\n"
            "outputs %5\n");
  EXPECT_TRUE(lowered.recorded);
  EXPECT_EQ(lowered.frozen.size(), 1u);
  EXPECT_EQ(lowered.graph.nodes[NodeId(1)].module, "fc");
  EXPECT_EQ(lowered.graph.nodes[NodeId(1)].calls, std::vector<std::string>{"fc"});
  EXPECT_EQ(IntAttribute(lowered.graph.nodes[NodeId(2)], "inplace", 0), 1);
  EXPECT_TRUE(VerifyGraph(lowered.graph).ok()) << VerifyGraph(lowered.graph);
}

TEST(LowerRecord, ReleasesWherePythonDid) {
  const Lowered lowered = LowerLines(kLayer);
  EXPECT_EQ(ReleaseOf(lowered, "%3"), 1);
  EXPECT_EQ(ReleaseOf(lowered, "%4"), 2);  // its name stands for what was written over it
  EXPECT_EQ(ReleaseOf(lowered, "%4.2"), 3);
  EXPECT_EQ(ReleaseOf(lowered, "%5"), 4);  // the caller's
  const Lowered named = LowerLines("%0 input x f32[B]\n%1 f32[B] = relu %0\n%2 f32[B] = neg %1\nreturn %2\n");
  EXPECT_EQ(ReleaseOf(named, "%1"), 2);  // nobody release it: a cache in what forward returned
}

TEST(LowerRecord, NumbersTheCallsOfAModule) {
  const Lowered lowered =
      LowerLines("%0 input x f32[B]\ncall a\n%1 f32[B] = relu %0\nret\ncall a\n%2 f32[B] = relu %1\nret\nreturn %2\n");
  EXPECT_EQ(lowered.graph.nodes[NodeId(0)].calls, std::vector<std::string>{"a"});
  EXPECT_EQ(lowered.graph.nodes[NodeId(1)].calls, std::vector<std::string>{"a_1"});
}

TEST(LowerRecord, TakesTheTablesOfItsOwnModeOnly) {
  const std::string lines =
      "%0 input x f32[B]\n%1 const f32[3]\n%2 f32[B] = relu %0\nreturn %2\n"
      "program eval\n%0 input x f32[B]\n%1 const f32[5]\n%2 const f32[3]\n%3 f32[B] = relu %0\nreturn %3\n";
  onnx_mem::Run run;
  EXPECT_EQ(DumpGraph(LowerLines(lines, run).graph),
            "input x float32 2\ninitializer constant %1 float32 3\nrelu:6 = relu(x) -> %2 float32 2\noutputs %2\n");
  run.training = false;
  EXPECT_EQ(DumpGraph(LowerLines(lines, run).graph),
            "input x float32 2\ninitializer constant %1 float32 5\ninitializer constant %2 float32 3\n"
            "relu:12 = relu(x) -> %3 float32 2\noutputs %3\n");
}

TEST(LowerRecord, TakesTheProgramOfBatchOneThere) {
  const BoundRecord several = Bound(
      "%0 input x f32[B]\n%1 f32[B] = relu %0\nreturn %1\ntree 1\n"
      "program train at 1\n%0 input x f32[1]\n%1 f32[1] = neg %0\nreturn %1\n");
  const auto dump = [&](int64_t batch, const onnx_mem::Run& run) {
    const absl::StatusOr<Lowered> lowered = LowerRecord({several.record, {.batch = batch}}, run);
    return lowered.ok() ? DumpGraph(lowered->graph) : lowered.status().ToString();
  };
  EXPECT_EQ(dump(2, {}), "input x float32 2\nrelu:5 = relu(x) -> %1 float32 2\noutputs %1\n");
  EXPECT_EQ(dump(1, {}), "input x float32 1\nneg:10 = neg(x) -> %1 float32 1\noutputs %1\n");
  onnx_mem::Run half;
  half.dtype = DType::kBFloat16;  // was not recorded: the weights' type of the program that was
  EXPECT_EQ(dump(1, half), "input x bfloat16 1\nneg:10 = neg(x) -> %1 bfloat16 1\noutputs %1\n");
}

TEST(LowerRecord, LeavesOutWhatRunsOnTheHost) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B]\n%1 f32[3]:cpu = arange 3\n%2 f32[3]:cpu = mul.Tensor %1 2\n%3 f32[B] = relu %0\nreturn %3\n");
  EXPECT_EQ(lowered.graph.nodes.size(), 1u);
}

// What the first update of a cache in transformers does: its gradient is that of the keys.
TEST(LowerRecord, LeavesEmptyTensorsOutOfACat) {
  const Lowered lowered =
      LowerLines("%0 input x f32[B,4]\n%1 f32[0] = zeros [0]\n%2 f32[B,4] = cat [%1,%0] -1 drop %1\nreturn %2\n");
  const FrameworkNode& cat = lowered.graph.nodes[NodeId(1)];
  EXPECT_EQ(cat.op.str(), "cat");
  ASSERT_EQ(cat.inputs.size(), 1u);
  EXPECT_EQ(lowered.graph.tensors[cat.inputs[0]].name, "x");
  EXPECT_EQ(IntAttribute(cat, "axis", 0), 1);
}

// In the backward of an autograd.Function products are not taken apart.
TEST(LowerRecord, KnowsAProductOfAFunctionsBackward) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B,3,4]\n%1 f32[B,4,3]/[12,1,4] ^%0 = transpose.int %0 -1 -2\n"
      "%2 f32[B,3,3] = matmul %0 %1 drop %1\nreturn %2\n");
  EXPECT_EQ(lowered.graph.nodes[NodeId(1)].op.str(), "matmul");
  EXPECT_TRUE(lowered.diagnostics.empty());
}

TEST(LowerRecord, KnowsAReversedTensorOfAFunctionsBackward) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B,3,4]\n%1 f32[4,3,B]/[1,4,12] ^%0 = numpy_T %0\n%2 f32[4,3,B]/[1,4,12] = exp %1 drop %1\n"
      "return %2\n");
  EXPECT_EQ(lowered.graph.nodes[NodeId(0)].op.str(), "permute");
  EXPECT_EQ(IntsAttribute(lowered.graph.nodes[NodeId(0)], "perm"), (std::vector<int64_t>{2, 1, 0}));
  EXPECT_TRUE(lowered.diagnostics.empty());
}

// torch.nn.functional.cosine_similarity writes its least norm over the norms, without gradients.
TEST(LowerRecord, KnowsAClampByATensor) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B,4]\n%1 f32[B,1] = linalg_vector_norm %0 2 [1] T\n%2 f32[] = scalar_tensor 1e-08 dtype=f32\n"
      "grad off\n%1 = clamp_min_.Tensor %1 %2 drop %2\ngrad on\n%3 f32[B,4] = div.Tensor %0 %1 drop %1\nreturn %3\n");
  const FrameworkNode& node = lowered.graph.nodes[NodeId(2)];
  EXPECT_EQ(node.op.str(), "clamp_by");
  EXPECT_EQ(IntAttribute(node, "inplace", 0), 1);
  EXPECT_TRUE(lowered.diagnostics.empty());
}

TEST(LowerRecord, ReadsTheTensorsAndAxesOfCalls) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B,4]\n%1 input y f32[B,2]\n%2 input w f32[4]\n%3 f32[B,4] = clamp.Tensor %0 - %2\n"
      "%4 f32[B,4] = slice_scatter %3 %1 1 0 2 drop %3\n%5 i64[2] = arange 2\n"
      "%6 f32[B,4] = index_fill.int_Scalar %4 1 %5 0.0 drop %4 %5\n"
      "%7 f32[] = binary_cross_entropy_with_logits %6 %0 - %2 drop %6\nreturn %7\n");
  EXPECT_TRUE(lowered.diagnostics.empty());
  const auto inputs = [&](int node) { return lowered.graph.nodes[NodeId(node)].inputs.size(); };
  EXPECT_EQ(inputs(0), 3U);
  EXPECT_EQ(inputs(1), 2U);
  EXPECT_EQ(IntAttribute(lowered.graph.nodes[NodeId(1)], "axis", 0), 1);
  EXPECT_EQ(inputs(3), 2U);
  EXPECT_EQ(inputs(4), 4U);
}

// As DeBERTa's dropout draws its mask. What comes from outside keeps its history for the node of the function.
TEST(LowerRecord, ReleasesWhatAFunctionMadeAndWroteOver) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B]\n%1 f32[B] = neg %0\nfunction F\n  %2 f32[B] = empty_like %1\n"
      "  %2 = bernoulli_.float %2 0.9\n  %3 f32[B] = rsub.Scalar %2 1 drop %2\n  %1 = mul_.Tensor %1 %3\n"
      "  %4 f32[B] = neg %1 drop %3\nendfunction\n%5 f32[B] = exp %4 drop %1 %4\nreturn %5\n");
  EXPECT_EQ(ReleaseOf(lowered, "%2"), 2);  // with the line that writes over it
  EXPECT_EQ(ReleaseOf(lowered, "%2.2"), 3);
  EXPECT_EQ(ReleaseOf(lowered, "%1"), 5);  // with the function
}

// As the weights of DCLS's kernels: positions along an axis, expanded to a kernel of six dimensions.
TEST(LowerRecord, CountsATableThatIsExpandedOnce) {
  const auto buffers = [](const std::string& type) {
    const BoundRecord bound =
        Bound(absl::StrCat("%0 input x f32[B]\n%1 const ", type, "\n%2 f32[B] = relu %0\nreturn %2\n"));
    Graph graph;
    graph.record = std::make_shared<const BoundRecord>(bound);
    onnx_mem::Run run;
    run.training = true;
    const absl::StatusOr<Enacted> enacted = Enact(graph, run);
    return enacted.ok() ? enacted->buffer_bytes : -1;
  };
  EXPECT_EQ(buffers("i64[7,16,8]/[1,0,0]"), 7 * 8);
  EXPECT_EQ(buffers("i64[7,16,8]/[1,56,7]"), 7 * 16 * 8 * 8);  // another order, the same memory
  EXPECT_EQ(buffers("i64[7,16,8]/[1,4611686018427387904,0]"), -1);
}

TEST(LowerRecord, SaysWhatIsAssumed) {
  const Lowered lowered = LowerLines("%0 input x f32[B]\n%1 f32[B] = my::op %0 3\nreturn %1\n");
  EXPECT_EQ(lowered.graph.nodes[NodeId(0)].op.str(), "assumed");
  ASSERT_EQ(lowered.diagnostics.size(), 1u);
  EXPECT_EQ(lowered.diagnostics[0].code, Code::kAssumedOp);
}

// Of an operator without a rule the line says all that there is to say, where autograd makes no node of it.
TEST(LowerRecord, TakesWhatALineSaysWhereThereIsNoNode) {
  const Lowered lowered = LowerLines(
      "%0 input x f32[B,8]\ngrad off\n%1 f32[B,8]/[1,2], %2 i32[B] = my::op %0 3\n%3 f32[4]/[2] ^%1 = my::view %1\n"
      "%1 = my::write_ %1 %2 drop %2\n%1 = atan2_ %1 %0\ngrad on\nreturn %1 %3\n");
  EXPECT_TRUE(lowered.diagnostics.empty());
  EXPECT_EQ(DumpGraph(lowered.graph),
            "input x float32 2x8\n"
            "my::op:6 = without_gradient() -> %1 float32 2x8, %2 int32 2\n"
            "my::view:7 = as_strided(%1) -> %3 float32 4\n"
            "my::write_:8 = overwrite(%1) -> %1.2 float32 2x8\n"
            "atan2_:9 = overwrite(%1.2) -> %1.3 float32 2x8\n"
            "outputs %1.3, %3\n");
  EXPECT_EQ(IntsAttribute(lowered.graph.nodes[NodeId(0)], "strides"), (std::vector<int64_t>{1, 2}));
}

// A record has the formula of such an operator, as that of a Function: nothing of it is assumed.
TEST(LowerRecord, KnowsTheFormulaOfAnOperator) {
  const Lowered lowered = LowerLines(
      "%0 param w f32[8]\n%1 input x f32[B,8]\n%2 f32[B,8] = mul.Tensor %1 %0\nfunction operator.my::op\n"
      "  %3 f32[B,8] = my::op %2 drop %2\nendfunction %3\nbackward %4 f32[B,8] of %3\n"
      "  %5 f32[B,8] = my::formula %4 %3\nendbackward %5 to %2\nreturn %3\n");
  EXPECT_TRUE(lowered.diagnostics.empty());
  ASSERT_EQ(lowered.functions.size(), 1u);
  EXPECT_EQ(lowered.functions[0].backward.front().op.str(), "without_gradient");
  onnx_mem::Run run;
  run.loss = LossKind::kSum;
  const absl::StatusOr<Enacted> enacted = EnactLowered(lowered, run);
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  constexpr int64_t kRow = 8 * 4, kTensor = 2 * kRow, kScalar = 4;
  EXPECT_EQ(ComputeTimeline(enacted->program).peak_bytes, 2 * kRow + 4 * kTensor + 2 * kScalar)
      << "w and its gradient; x, the result that the caller holds, what the formula makes, its product with x; the "
         "loss "
         "with its gradient";
}

TEST(LowerRecord, ReadsComplexNumbers) {
  const Lowered lowered = LowerLines("%0 input x c64[B]\n%1 c64[B] = mul.Scalar %0 0.5-1e-05j\nreturn %1\n");
  EXPECT_EQ(lowered.graph.nodes[NodeId(0)].op.str(), "mul_scalar");
  EXPECT_FALSE(record::ParseRecord(absl::StrCat(kHead,
                                                "%0 input x c64[B]\n%1 c64[B] = mul.Scalar %0 bj\nreturn %1\n"
                                                "tree 1\n"))
                   .ok());
}

TEST(LowerRecord, JoinsLinearLayersUnderAutocast) {
  onnx_mem::Run run;
  run.autocast = DType::kBFloat16;
  const Lowered lowered = LowerLines(kLayer, run);
  const FrameworkNode& node = lowered.graph.nodes[NodeId(1)];
  EXPECT_EQ(node.op.str(), "linear");
  EXPECT_EQ(lowered.graph.tensors[node.inputs[1]].name, "fc.weight");
}

TEST(LowerRecord, ChangesTheType) {
  onnx_mem::Run run;
  run.dtype = DType::kFloat16;
  const Lowered lowered = LowerLines(kLayer, run);
  for (const Tensor& tensor : lowered.graph.tensors) EXPECT_EQ(tensor.dtype, DType::kFloat16) << tensor.name;
}

TEST(LowerRecord, RefusesSizesThatAreNone) {
  const absl::StatusOr<Lowered> lowered =
      LowerRecord(Bound("%0 input x f32[1/2B]\nreturn %0\n", /*batch=*/3), onnx_mem::Run());
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(DiagnosticOf(lowered.status()).code, Code::kBadRecord);
}

TEST(LowerRecord, KeepsFunctionsApart) {
  const Lowered lowered = LowerLines(
      "%0 param w f32[4]\n%1 input x f32[B,4]\n%2 f32[B,4] = mul.Tensor %1 %0\nfunction m.F\n%3 f32[B,4] = exp %2\n"
      "endfunction %3\nbackward %4 f32[B,4] of %3\n%5 f32[B,4] = mul.Tensor %4 %3\nendbackward %5 to %2\nreturn %3\n");
  ASSERT_EQ(lowered.functions.size(), 1u);
  const UserFunction& function = lowered.functions[0];
  EXPECT_EQ(function.span.first, 1);
  EXPECT_EQ(function.span.last, 1);
  EXPECT_EQ(function.saved.size(), 1u);
  ASSERT_EQ(function.backward.size(), 1u);
  EXPECT_EQ(function.backward[0].op.str(), "mul");
  EXPECT_EQ(lowered.graph.nodes.size(), 2u);
}

// As torchao's products in float8, whose backward casts its gradient by another function.
TEST(LowerRecord, AFunctionThatABackwardCallsIsPartOfIt) {
  const Lowered lowered = LowerLines(
      "%0 param w f32[4]\n%1 input x f32[B,4]\nfunction m.F\n%2 f32[B,4] = mul.Tensor %1 %0\nendfunction %1\n"
      "backward %3 f32[B,4] of %2\nfunction m.Cast\n%4 f16[B,4] = _to_copy %3 dtype=f16\nendfunction\n"
      "%5 f32[4] = sum.dim_IntList %4 [0] dtype=f32 drop %4\nendbackward %5 to %0\nreturn %2\n");
  ASSERT_EQ(lowered.functions.size(), 1u);
  const UserFunction& function = lowered.functions[0];
  EXPECT_EQ(function.name, "m.F");
  EXPECT_EQ(function.span.first, 0);
  EXPECT_EQ(function.span.last, 0);
  EXPECT_EQ(function.saved.size(), 1u);
  EXPECT_EQ(function.backward.size(), 2u);
}

// A slice of zeros is written over: what reads all of it afterwards has a gradient, which passes through the copy.
TEST(Record, FollowsWhatIsWrittenThroughAView) {
  Graph graph;
  graph.record = std::make_shared<const BoundRecord>(
      Bound("%0 param w f32[4]\n%1 input x f32[B,4]\n%2 f32[B,4] = mul.Tensor %1 %0\n%3 f32[B,8] = zeros [B,8]\n"
            "%4 f32[B,4]/[8,1] ^%3 = slice.Tensor %3 1 0 4\n%4 = copy_ %4 %2 drop %2 %4\nreturn %3\n"));
  onnx_mem::Run run;
  run.loss = LossKind::kMean;
  const absl::StatusOr<Enacted> enacted = Enact(graph, run);
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  ASSERT_EQ(enacted->parameters.size(), 1u);
  EXPECT_TRUE(enacted->parameters[0].has_gradient);
}

TEST(AtenTable, NamesOperatorsThatThereAre) {
  for (const record::AtenRow& row : record::AllAtenRows()) {
    EXPECT_NE(eager::FindOp(row.op), nullptr) << row.aten << " -> " << row.op;
    EXPECT_EQ(record::FindAten(row.aten), &row) << row.aten << " stands twice";
  }
  EXPECT_EQ(record::FindAten("add_.Tensor"), record::FindAten("add.Tensor"));
  EXPECT_EQ(record::FindAten("_softmax_"), nullptr);
  EXPECT_EQ(record::FindAten("__ior__.Tensor"), nullptr);
  EXPECT_EQ(record::FindAten("mine::relu"), nullptr);
}

// Two layers, the second in a reentrant checkpoint of what `argument` is.
std::string Checkpointed(const std::string& argument) {
  return "%0 param a f32[8,8]\n%1 param b f32[8,8]\n%2 input x f32[B,8]\n%3 f32[8,8]/[1,8] ^%0 = t %0\n"
         "%4 f32[B,8] = mm %2 %3 drop %3\ncheckpoint reentrant " +
         argument + "\n%5 f32[8,8]/[1,8] ^%1 = t %1\n%6 f32[B,8] = mm " + argument +
         " %5 drop %5\n%7 f32[B,8] = exp %6 drop %6\nendcheckpoint\n%8 f32[B,8] = add.Tensor %7 %4 drop %4 %7\n"
         "return %8\n";
}

// How many parameters get a gradient.
int TrainedIn(const std::string& lines) {
  onnx_mem::Run run;
  const Lowered lowered = LowerLines(lines, run);
  EXPECT_TRUE(lowered.checkpointed.size() == 1 && lowered.checkpointed[0].reentrant);
  const absl::StatusOr<Enacted> enacted = EnactLowered(lowered, run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  int trained = 0;
  for (const Buffer& buffer : enacted->program.buffers) trained += buffer.category == Category::kGradients ? 1 : 0;
  return trained;
}

// The node of a reentrant checkpoint is there only where one of its arguments needs a gradient.
TEST(LowerRecord, TrainsInAReentrantCheckpointWhereItsArgumentNeedsAGradient) {
  EXPECT_EQ(TrainedIn(Checkpointed("%4")), 2);
  EXPECT_EQ(TrainedIn(Checkpointed("%2")), 1);
}

// torch.compile's step is one autograd.Function that saves parameters which its forward reads through views alone.
constexpr char kFunction[] =
    "%0 param fc.weight f32[8,8]\n%1 param fc.bias f32[8]\n%2 input x f32[B,8]\ncall fc\nfunction m.F\n"
    "  %3 f32[B,8] = mm %2 %0\n  %4 f32[B,8] = relu %3 drop %3\nendfunction %1 %2 held %0\nbackward %5 f32[B,8] of %4\n"
    "  %6 f32[B,8] = mul.Tensor %5 2\nendbackward %6 to %0, %5 to %1\nret\nreturn %4\n";

TEST(LowerRecord, AFunctionRunsAgainWithinACheckpoint) {
  const Lowered lowered = LowerLines(kFunction);
  onnx_mem::Run run;
  run.segments = {{.modules = {"fc"}, .nodes = {}}};
  const absl::StatusOr<Enacted> enacted = EnactLowered(lowered, run);
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  EXPECT_GT(enacted->recompute_flops, 0);
}

TEST(LowerRecord, NoCheckpointCutsAFunction) {
  const Lowered lowered = LowerLines(kFunction);
  onnx_mem::Run run;
  run.segments = {{.modules = {}, .nodes = {"relu:10"}}};
  const absl::StatusOr<Enacted> enacted = EnactLowered(lowered, run);
  EXPECT_EQ(DiagnosticOf(enacted.status()).message,
            "a segment of the plan cuts 'm.F', an autograd.Function, whose forward runs as one");
}

// A backward is enacted as a forward is: what its operators do not take, the default rule does.
TEST(LowerRecord, ABackwardOfOperatorsWithoutTheirInputs) {
  const BoundRecord bound = Bound(
      "%0 param fc.weight f32[8,8]\n%2 input x f32[B,8]\nfunction m.F\n  %3 f32[B,8] = mm %2 %0\nendfunction %0\n"
      "backward %5 f32[B,8] of %3\n  %6 f32[8,8] = mm\n  %7 f32[8,8] = convolution %5\nendbackward %6 to %0\nreturn "
      "%3\n");
  Graph graph;
  graph.record = std::make_shared<const BoundRecord>(bound);
  const absl::StatusOr<Enacted> enacted = Enact(graph, {});
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  EXPECT_EQ(CodeOf(enacted->diagnostics.front()), "assumed-op");
}

}  // namespace
}  // namespace onnx_mem
