// What a peak may be, given what an evaluation export does not show.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/assume/table/margins.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"
#include "tests/analyzer/analysis/bounded.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// Linear, relu, linear: a dropout may have been between them. 64 x 128 results of 4 bytes, a mask of 1 and a dropped
// result of 4 each on top.
constexpr char kClassifier[] = R"(g (float[64,32] x) => (float[64,8] y)
    <float[128,32] wa = ["location": "none"], float[8,128] wb = ["location": "none"]>
    { h = Gemm <transB=1> (x, wa)
      r = Relu(h)
      y = Gemm <transB=1> (r, wb) })";

// A head [16, 2000] beside an embedding [2000, 16].
constexpr char kLanguageModel[] = R"(g (int64[2,8] ids) => (float[2,8,2000] y)
    <float[2000,16] table = ["location": "none"], float[16,2000] w = ["location": "none"]>
    { e = Gather(table, ids)
      h = Tanh(e)
      y = MatMul(h, w) })";

std::string RangeOf(const Bounded& bounded, std::string_view code) {
  for (const Diagnostic& d : bounded.diagnostics) {
    if (CodeOf(d) != code) continue;
    for (const std::string& detail : d.details) {
      if (absl::StartsWith(detail, "range: ")) return detail;
    }
  }
  return "";
}

TEST(PeakBounds, ALostDropoutRaisesThePeak) {
  const Bounded bounded = BoundsIn(ParseGraph(kClassifier));
  EXPECT_EQ(bounded.bounds.low_bytes, bounded.peak_bytes);
  EXPECT_GT(bounded.bounds.high_bytes, bounded.peak_bytes);
  EXPECT_LE(bounded.bounds.high_bytes, bounded.peak_bytes + 64 * 128 * 5);
  EXPECT_NE(RangeOf(bounded, "eval-dropout"), "");
}

// a += b, or a new tensor beside both, 64 x 512 results of 4 bytes, when the peak is: no export shows which.
TEST(PeakBounds, ASumThatMayBeWrittenInPlaceLowersThePeakOfTraining) {
  constexpr char kWide[] = R"(g (float[64,8] x) => (float[64,8] y)
      <float[512,8] wa = ["location": "none"], float[512,8] wb = ["location": "none"],
       float[8,512] wc = ["location": "none"]>
      { a = Gemm <transB=1> (x, wa)
        b = Gemm <transB=1> (x, wb)
        s = Add(a, b)
        y = Gemm <transB=1> (s, wc) })";
  Workload workload;
  workload.run.dropout = 0.0;
  const Bounded open = BoundsIn(ParseGraph(kWide), workload);
  EXPECT_LT(open.bounds.low_bytes, open.peak_bytes);
  workload.run.inplace = "none";
  const Bounded settled = BoundsIn(ParseGraph(kWide), workload);
  EXPECT_EQ(settled.bounds.low_bytes, settled.peak_bytes);
}

// 20,001 activations: what the file leaves open is not worked out, and the card's range is that of the other causes.
TEST(PeakBounds, TheRangeOfAHugeGraphHoldsItsFigure) {
  std::string nodes = "x0 = Relu(x)\n";
  for (int i = 1; i <= 20'000; ++i) absl::StrAppend(&nodes, "x", i, " = Relu(x", i - 1, ")\n");
  absl::StrAppend(&nodes, "y = Identity(x20000)");
  absl::StatusOr<ImportedModel> imported =
      ImportText(absl::StrCat("g (float[4,8] x) => (float[4,8] y) { ", nodes, " }"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  const absl::StatusOr<Analysis> analysis = Study(*std::move(imported)).AskWithRange(Workload());
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(analysis->training()->peak_high_bytes, 0) << "not known";
  EXPECT_LT(analysis->training()->device_low_bytes, analysis->training()->device_bytes);
  EXPECT_GT(analysis->training()->device_high_bytes, analysis->training()->device_bytes);
}

TEST(PeakBounds, WhatTheUserSaidIsNotInDoubt) {
  Workload workload;
  workload.run.dropout = 0.0;
  const Bounded bounded = BoundsIn(ParseGraph(kClassifier), workload);
  EXPECT_EQ(bounded.bounds.low_bytes, bounded.peak_bytes);
  EXPECT_EQ(bounded.bounds.high_bytes, bounded.peak_bytes);
}

// Where nothing is open the range has its least reach, on both sides.
TEST(PeakBounds, ARangeReachesAtLeastAMarginWhereNothingIsOpen) {
  Workload workload;
  workload.run.dropout = 0.0;
  const Bounded settled = BoundsIn(ParseGraph(kClassifier), workload);
  EXPECT_EQ(settled.all.low_bytes, settled.peak_bytes - settled.peak_bytes / 100 * 4);
  EXPECT_EQ(settled.all.high_bytes, settled.peak_bytes + settled.peak_bytes / 100 * 7);
}

TEST(PeakBounds, WhatAFileDoesNotListComesOnTopOfWhatIsOpen) {
  const PeakBounds open = {.low_bytes = 9'000, .high_bytes = 20'000};
  const auto high = [&](std::vector<std::string> marks, bool training) {
    Lowered lowered;
    lowered.assumptions = std::move(marks);
    return WithMargin(open, 10'000, lowered, training).high_bytes;
  };
  const std::string listed(kTensorsListed), missing(kParametersMissing);
  EXPECT_EQ(high({listed}, true), 20'000) << "as much is open anyway";
  EXPECT_EQ(high({listed, missing}, true), 20'300) << "what the missing parameters led to is trained";
  EXPECT_EQ(high({listed, missing}, false), 20'000);
  EXPECT_EQ(high({}, false), 20'300) << "no word of any tensor that it lacks";
  Lowered recorded;
  recorded.recorded = true;
  EXPECT_EQ(WithMargin(open, 10'000, recorded, true).high_bytes, 20'000) << "a record has no margin";
}

TEST(PeakBounds, AMarginIsSaidInWords) {
  const Margin least = {.less_percent = 1, .more_percent = 6};
  EXPECT_EQ(MarginText(least, {}), "at least -1 to +6 %");
  EXPECT_EQ(MarginText(least, {.less_percent = 2, .more_percent = 9}), "at least -1 to +6 %, and -2 to +9 % on top");
  EXPECT_EQ(MarginText(least, {.more_percent = 3}), "at least -1 to +6 %, and +3 % on top");
}

TEST(PeakBounds, ASharedHeadLowersIt) {
  Graph graph = ParseGraph(kLanguageModel);
  for (TensorId id : graph.initializers) {
    if (graph.tensors[id].name == "w") graph.tensors[id].name = "onnx::MatMul_9";
  }
  const Bounded bounded = BoundsIn(graph);
  EXPECT_LT(bounded.bounds.low_bytes, bounded.peak_bytes);
  EXPECT_TRUE(absl::StrContains(RangeOf(bounded, "maybe-tied"), "with --tied yes")) << RangeOf(bounded, "maybe-tied");
}

// Two convolutions whose names tell nothing, with activations behind them.
constexpr char kUnlisted[] = R"(g (float[8,8,16,16] x) => (float[8,8,16,16] y)
    <float[8,8,3,3] wa = ["location": "none"], float[8] ba = ["location": "none"],
     float[8,8,3,3] wb = ["location": "none"], float[8] bb = ["location": "none"]>
    { c = Conv <pads = [1, 1, 1, 1]> (x, wa, ba)
      r = Relu(c)
      d = Conv <pads = [1, 1, 1, 1]> (r, wb, bb)
      y = Relu(d) })";

TEST(PeakBounds, ABatchNormThatMayHaveBeenFoldedRaisesIt) {
  const Bounded bounded = BoundsIn(ParseGraph(kUnlisted));
  EXPECT_GE(bounded.bounds.high_bytes, bounded.peak_bytes + 8 * 8 * 16 * 16 * 4);
  EXPECT_TRUE(absl::StrContains(RangeOf(bounded, "bn-undecided"), "with --bn unfold"));
  Workload workload;
  workload.run.batch_norm = BatchNormMode::kAsIs;
  EXPECT_EQ(RangeOf(BoundsIn(ParseGraph(kUnlisted), workload), "bn-undecided"), "");
}

// A bias [4, 16, 16] of positions, computed by the exporter.
constexpr char kBiased[] = R"(g (float[2,4,16,16] x) => (float[2,4,16,16] y)
    <float[4,16,16] table = ["location": "none"]>
    { s = Add(x, table)
      y = Softmax(s) })";

// The interval of an inference, from its peak, with the stored tensor `from` called `to`.
std::pair<int64_t, int64_t> BoundsOfInference(std::string_view text, std::string_view from, std::string_view to) {
  Graph graph = ParseGraph(std::string(text));
  for (TensorId id : graph.initializers) {
    if (graph.tensors[id].name == from) graph.tensors[id].name = to;
  }
  Workload workload;
  workload.run.training = false;
  const absl::StatusOr<Lowered> lowered = Prepare(graph, workload.run);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  absl::StatusOr<Enacted> enacted = EnactLowered(*lowered, workload.run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  const int64_t peak_bytes = ComputeTimeline(enacted->program).peak_bytes;
  const absl::StatusOr<PeakBounds> bounds = BoundRun(
      *lowered, workload, {peak_bytes, true}, [&](const Run& run) { return Prepare(graph, run); },
      enacted->diagnostics);
  EXPECT_TRUE(bounds.ok()) << bounds.status();
  return {bounds->low_bytes - peak_bytes, bounds->high_bytes - peak_bytes};
}

// A noisy layer's weight, mu + sigma * (p q), which training computes; an evaluation reads mu.
TEST(InferenceBounds, NoiseOfTrainingMayNotRun) {
  const auto least = [](const std::string& noise) {
    return BoundsOfInference(R"(g (float[4,256] x) => (float[4,128] y)
        <float[128,256] mu = ["location": "none"], float[128,256] sigma = ["location": "none"],
         float[128,1] p = ["location": "none"], float[1,256] q = ["location": "none"]>
        { )" + noise + " y = Gemm <transB=1> (x, w) }",
                             "", "")
        .first;
  };
  constexpr int64_t kWeightBytes = 128 * 256 * 4, kResultBytes = 4 * 128 * 4;
  EXPECT_EQ(least("outer = Mul(p, q) scaled = Mul(sigma, outer) w = Add(mu, scaled)"), kResultBytes - 2 * kWeightBytes);
  EXPECT_EQ(least("w = Mul(mu, sigma)"), 0) << "a mask is for both modes";
}

// From left to right, the first product is [32 8 8 8 4], 262,144 B, of which the first sum makes [32 8 8 4].
TEST(InferenceBounds, AnotherOrderOfEinsumNeedsLess) {
  EXPECT_LT(BoundsOfInference(R"(g (float[8,8,8] w, float[32,4] v, float[32,8] x, float[32,8] y) => (float[32,8,4] z)
      { z = Einsum <equation="ijk,za,zi,zj->zka"> (w, v, x, y) })",
                              "", "")
                .first,
            -32 * 8 * 8 * 8 * 4 * 4);
}

TEST(InferenceBounds, ASharedHeadLowersTheLeast) {
  EXPECT_EQ(BoundsOfInference(kLanguageModel, "w", "onnx::MatMul_9").first, -16 * 2000 * 4);
  EXPECT_EQ(BoundsOfInference(kLanguageModel, "w", "head.weight").first, 0);
}

TEST(InferenceBounds, WhatTheExporterComputedMayNotBeKept) {
  EXPECT_EQ(BoundsOfInference(kBiased, "table", "onnx::Add_9").first, -4 * 16 * 16 * 4);
  EXPECT_EQ(BoundsOfInference(kBiased, "table", "attn.bias").first, 0);
}

// Scores times a number of the module's: nn.Parameter(.., requires_grad=False) in some code, trained in other.
TEST(PeakBounds, ANumberThatScalesMayBeFixed) {
  constexpr char kScaled[] = R"(g (float[4,64,8] q, float[4,8,64] k) => (float[4,64,64] y)
      <float[8,8] w = ["location": "none"], float[1] attn_scale = ["location": "none"]>
      { h = MatMul(q, w)
        s = MatMul(h, k)
        t = Mul(s, attn_scale)
        y = Softmax <axis=-1> (t) })";
  const Bounded bounded = BoundsIn(ParseGraph(kScaled));
  EXPECT_LT(bounded.bounds.low_bytes, bounded.peak_bytes);
  EXPECT_EQ(bounded.bounds.high_bytes, bounded.peak_bytes);
  EXPECT_NE(RangeOf(bounded, "trained-undecided"), "");
  Workload frozen;
  frozen.run.freeze = {"scale"};
  EXPECT_EQ(BoundsIn(ParseGraph(kScaled), frozen).peak_bytes, bounded.bounds.low_bytes);
}

// A table [16, 32] of positions that is added: nn.Parameter(sincos(16, 32), requires_grad=False) in some code. A fixed
// one has neither a gradient nor a momentum.
TEST(PeakBounds, APositionTableMayBeFixed) {
  Graph graph = ParseGraph(R"(g (float[2,16,32] x) => (float[2,16,32] y)
      <float[16,32] pos = ["location": "none"], float[32,32] w = ["location": "none"]>
      { a = Add(x, pos)
        y = MatMul(a, w) })");
  for (TensorId id : graph.initializers) {
    if (graph.tensors[id].name == "pos") graph.tensors[id].name = "pos_embed";
  }
  Workload workload;
  workload.optimizer.name = "momentum";
  const Bounded bounded = BoundsIn(graph, workload);
  EXPECT_LE(bounded.bounds.low_bytes, bounded.peak_bytes - 2 * 16 * 32 * 4);
  EXPECT_EQ(bounded.bounds.high_bytes, bounded.peak_bytes);
  workload.run.freeze = {"pos"};
  const Bounded frozen = BoundsIn(graph, workload);
  EXPECT_EQ(frozen.bounds.low_bytes, frozen.peak_bytes) << "the user has said what is trained";
}

// y = x * sigmoid(x) of a class of the user's own: three tensors are alive at its product, with nn.SiLU two.
TEST(InferenceBounds, ASiluOfTheUsersOwnHasAGate) {
  constexpr char kGated[] = R"(g (float[64,32] x) => (float[64,8] y)
      <float[128,32] wa = ["location": "none"], float[8,128] wb = ["location": "none"]>
      { h = Gemm <transB=1> (x, wa)
        s = Sigmoid(h)
        p = Mul(h, s)
        y = Gemm <transB=1> (p, wb) })";
  EXPECT_GE(BoundsOfInference(kGated, "", "").second, 64 * 128 * 4);
}

// Beside a table of positions, which are counted, may lie an integer for each; token ids with offsets are no positions.
TEST(PeakBounds, ABufferOfPositionsMayLieBesideTheirTable) {
  const auto width = [](const std::string& index) {
    const Bounded bounded = BoundsIn(ParseGraph(R"(g (int64[2,8] ids) => (float[2,8,16] y)
        <float[512,16] table = ["location": "none"], int64 axis = {1}, int64 one = {1}>
        { )" + index + R"(
          e = Gather(table, i)
          y = Tanh(e) })"));
    return bounded.bounds.high_bytes - bounded.peak_bytes;
  };
  EXPECT_EQ(width("i = CumSum(ids, axis)"), 512 * 8);
  EXPECT_EQ(width("i = Add(ids, one)"), 0);
}

// Of a buffer that forward writes into (integers have no gradient: no parameter) exporters write a new tensor; code
// that writes in place makes none.
TEST(InferenceBounds, AWrittenBufferMayBeTheSameTensor) {
  const auto low = [](const std::string& nodes) {
    return BoundsOfInference(absl::StrCat(R"(g (int64[4,64] x, int64[4,1] at) => (int64[512,64] y)
        <int64[512,64] queue = ["location": "none"]> { )",
                                          nodes, " }"),
                             "", "")
        .first;
  };
  EXPECT_LE(low("y = ScatterND(queue, at, x)"), -512 * 64 * 8);
  EXPECT_GT(low("s = ReduceSum <keepdims=1> (x) n = Add(queue, s) y = ScatterND(n, at, x)"), -512 * 64 * 8)
      << "a result of the run is no buffer";
}

// a = self.a(x); t = torch.tanh(a); c = self.b(t); r = F.relu(c): with a name for each, and nothing written over, there
// are four results of one size, of which two are likely.
TEST(InferenceBounds, AtMostEachValueHasANameAndNoneIsWrittenOver) {
  constexpr int64_t kResultBytes = 8 * 64 * 64 * 4;
  EXPECT_GE(BoundsOfInference(R"(g (float[1,1,64,64] x) => (float[1,1,64,64] y)
      <float[8,1,1,1] wa = ["location": "none"], float[8,8,1,1] wb = ["location": "none"],
       float[1,8,1,1] wc = ["location": "none"]>
      { a = Conv(x, wa) t = Tanh(a) c = Conv(t, wb) r = Relu(c) y = Conv(r, wc) })",
                              "", "")
                .second,
            2 * kResultBytes);
}

// A table of integers, for they are no parameters, that code may compute once.
TEST(InferenceBounds, ATableOfNumbersMayHaveBeenComputedBefore) {
  const auto bounds = [](const std::string& nodes) {
    return BoundsOfInference(absl::StrCat(R"(g (int64[4,64] x) => (int64[4,64] y)
        <int64[512,64] numbers = ["location": "none"], int64[1] rows = {4}, int64[1] from = {0}> { )",
                                          nodes, " }"),
                             "", "");
  };
  constexpr int64_t kTableBytes = 512 * 64 * 8;
  const std::string made = "a = Neg(numbers) b = Abs(a) t = Slice(b, from, rows) y = Add(x, t)";
  EXPECT_LE(bounds(made).first, -kTableBytes);
  EXPECT_GT(bounds("s = ReduceSum <keepdims=1> (x) a = Add(numbers, s) t = Slice(a, from, rows) y = Add(x, t)").first,
            -kTableBytes)
      << "made of the input";
}

// Nothing bounds what was not counted: the high end is four times the peak.
TEST(PeakBounds, WhatIsNotCountedMayTakeAnything) {
  for (const Code code : {Code::kShapeUnknown, Code::kUnknownSize, Code::kCustomOp, Code::kOpaqueSubgraph}) {
    const Bounded bounded = BoundsIn(ParseGraph(kClassifier), {}, {{.code = code}});
    EXPECT_GE(bounded.all.high_bytes, 4 * bounded.peak_bytes - 300) << "bytes beyond whole hundreds";
  }
}

}  // namespace
}  // namespace onnx_mem
