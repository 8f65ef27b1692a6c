// A record beside a graph that it is not of: each way in which the two can differ is reported.
#include "analyzer/record/binding/graph_face.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/record/format/text.h"
#include "gtest/gtest.h"

namespace onnx_mem::record {
namespace {

constexpr char kPrograms[] =
    "program eval\n%0 param conv.weight f32[8,3,3,3]\n%1 param fc.weight f32[10,8]\n%2 buffer count i64[]\n"
    "%3 input batch.x f32[B,3,S,S]\n%4 f32[B,8,S,S] = convolution %3 %0 - [1,1] [1,1] [1,1] F [0,0] 1\n"
    "%5 f32[B,8] = mean.dim %4 [2,3] F drop %4\n%6 f32[8,10]/[1,8] ^%1 = t %1\n%7 f32[B,10] = mm %5 %6 drop %5 %6\n"
    "return %7\ntree 1\n"
    "program train\n%0 param conv.weight f32[8,3,3,3]\n%1 param fc.weight f32[10,8]\n%2 buffer count i64[]\n"
    "%3 input batch.x f32[B,3,S,S]\n%4 f32[B,8,S,S] = convolution %3 %0 - [1,1] [1,1] [1,1] F [0,0] 1\n"
    "%5 f32[B,8] = mean.dim %4 [2,3] F drop %4\n%6 f32[8,10]/[1,8] ^%1 = t %1\n%7 f32[B,10] = mm %5 %6 drop %5 %6\n"
    "return %7\ntree 1\n";

// What the exporter shows of it: no counter, and "_" in the name of an input.
GraphFace Face() {
  return {.inputs = {{"batch_x", DType::kFloat32, {{kAnySize, 3, 32, 32}}, true}},
          .stored = {{"conv.weight", DType::kFloat32, {{8, 3, 3, 3}}, true, true},
                     {"fc.weight", DType::kFloat32, {{10, 8}}, true},
                     {"val_3", DType::kInt64, {{1}}, true}},
          .outputs = {{"linear", DType::kFloat32, {{kAnySize, 10}}}},
          .computes = true};
}

// "" where the record is of the graph; else what differs.
std::string Difference(const std::string& programs, const GraphFace& face, bool free = false) {
  const std::string sized = free ? programs : absl::StrReplaceAll(programs, {{"S,S", "32,32"}});
  const absl::StatusOr<Record> record =
      ParseRecord(absl::StrCat("eager 1\ntorch 2.15.0\n", free ? "free S side 32 step 1 seen 32 64\n" : "", sized));
  EXPECT_TRUE(record.ok()) << record.status();
  const absl::Status status = CheckFace(*record, face);
  if (status.ok()) return "";
  EXPECT_EQ(DiagnosticOf(status).code, Code::kRecordMismatch) << status;
  const std::string message = DiagnosticOf(status).message;
  return message.substr(message.rfind(": ") + 2);
}

std::string With(const std::string& from, const std::string& to) {
  const std::string programs = absl::StrReplaceAll(kPrograms, {{from, to}});
  EXPECT_NE(programs, kPrograms) << from;
  return programs;
}

// A buffer in whose place each call puts a tensor of its own batch: the graph has it as it was made, or not at all.
TEST(GraphFace, AReplacedBufferIsAsTheCallBeforeLeftIt) {
  const std::string state = With("%2 buffer count i64[]", "%2 buffer state f32[B,8]");
  EXPECT_EQ(Difference(state, Face()), "the graph stores no 'state'");
  const std::string replaced = absl::StrReplaceAll(state, {{"drop %4\n", "drop %2 %4\n"}});
  EXPECT_EQ(Difference(replaced, Face()), "");
  GraphFace stored = Face();
  stored.stored.push_back({"state", DType::kFloat32, {{8}}});
  EXPECT_EQ(Difference(replaced, stored), "");
}

TEST(GraphFace, IsThatOfItsRecord) {
  EXPECT_EQ(Difference(kPrograms, Face()), "");
  GraphFace fixed = Face();  // an export at one batch
  (*fixed.inputs[0].dims)[0] = (*fixed.outputs[0].dims)[0] = 5;
  EXPECT_EQ(Difference(kPrograms, fixed), "");
  GraphFace open = Face();
  open.inputs[0].dims = {{kAnySize, 3, kAnySize, kAnySize}};
  EXPECT_EQ(Difference(kPrograms, open, /*free=*/true), "");
}

TEST(GraphFace, HasTheParametersOfTheRecord) {
  EXPECT_EQ(Difference(With("%1 param fc.weight f32[10,8]", "%1 param fc.weight f32[10,80]"), Face()),
            "the parameter 'fc.weight' is float32 [10,80] in the record, float32 [10,8] in the graph");
  EXPECT_EQ(Difference(With("%1 param fc.weight f32[10,8]", "%1 param fc.weight f16[10,8]"), Face()),
            "the parameter 'fc.weight' is float16 [10,8] in the record, float32 [10,8] in the graph");
  EXPECT_EQ(Difference(With("fc.weight", "fc.other"), Face()), "the record has no parameter 'fc.weight'");
  GraphFace more = Face();
  more.stored.push_back({"aux.weight", DType::kFloat32, {{4, 4}}});
  EXPECT_EQ(Difference(kPrograms, more), "the record has no parameter 'aux.weight'");
  GraphFace fewer = Face();
  fewer.stored.erase(fewer.stored.begin() + 1);
  EXPECT_EQ(Difference(kPrograms, fewer), "the graph stores no 'fc.weight'");
  EXPECT_EQ(Difference(With("%2 buffer count i64[]", "%2 const f32[999]"), Face()),
            "the record keeps a table that no operator reads");
}

TEST(GraphFace, HasTheParametersOfEachProgram) {
  EXPECT_EQ(Difference(absl::StrCat(kPrograms,
                                    "program eval bf16\n%0 param conv.weight bf16[8,3,3,3]\n"
                                    "%1 param fc.weight bf16[10,9]\n%2 input batch.x bf16[B,3,32,32]\n"
                                    "return %2\ntree 1\n"),
                       Face()),
            "the parameter 'fc.weight' is bfloat16 [10,9] in the record, float32 [10,8] in the graph");
}

TEST(GraphFace, HasTheInputsAndOutputsOfTheRecord) {
  EXPECT_EQ(Difference(With("input batch.x", "input batch.y"), Face()), "the graph has no input 'batch.y'");
  GraphFace two = Face();
  two.inputs.push_back({"mask", DType::kBool, {{kAnySize, 4}}});
  EXPECT_EQ(Difference(kPrograms, two), "the record has no input 'mask'");
  const auto also = [](const std::string& name) { return With("[B,3,S,S]\n", "[B,3,S,S]\ntied %3 " + name + "\n"); };
  EXPECT_EQ(Difference(also("mask"), two),
            "the input 'mask' is float32 [B,3,32,32] in the record, bool [?,4] in the graph");
  GraphFace twice = Face();
  twice.inputs.push_back({"labels", DType::kFloat32, {{kAnySize, 3, 32, 32}}});
  EXPECT_EQ(Difference(also("labels"), twice), "");
  EXPECT_EQ(Difference(also("labels"), Face()), "the graph has no input 'labels'");
  GraphFace larger = Face();
  larger.inputs[0].dims = {{kAnySize, 3, 64, 64}};
  EXPECT_EQ(Difference(kPrograms, larger),
            "the input 'batch_x' is float32 [B,3,32,32] in the record, float32 [?,3,64,64] in the graph");
  GraphFace other = Face();
  other.outputs[0].dims = {{kAnySize, 1000}};
  EXPECT_EQ(Difference(kPrograms, other),
            "the output 'linear' is float32 [B,10] in the record, float32 [?,1000] in the graph");
  other.outputs = {Face().outputs[0], Face().outputs[0]};
  EXPECT_EQ(Difference(kPrograms, other), "the record returns 1 tensors, the graph 2");
  GraphFace integer = Face();
  integer.inputs[0].dtype = DType::kInt64;
  EXPECT_EQ(Difference(kPrograms, integer),
            "the input 'batch_x' is float32 [B,3,32,32] in the record, int64 [?,3,32,32] in the graph");
}

// A dimension that the graph names "batch" is the batch of the record.
TEST(GraphFace, HasTheBatchOfTheRecord) {
  GraphFace named = Face();
  (*named.inputs[0].dims)[0] = (*named.outputs[0].dims)[0] = kBatchSize;
  EXPECT_EQ(Difference(kPrograms, named), "");
  for (const std::string other : {"2B", "B+1", "2"}) {
    EXPECT_EQ(Difference(With("batch.x f32[B,", absl::StrCat("batch.x f32[", other, ",")), named),
              absl::StrCat("the input 'batch_x' is float32 [", other,
                           ",3,32,32] in the record, float32 [batch,3,32,32] in the graph"));
  }
}

// Free sizes are no way around the graph's.
TEST(GraphFace, HasTheFreeSizesOfTheRecord) {
  EXPECT_EQ(Difference(kPrograms, Face(), /*free=*/true), "");  // 32 is the length of the record
  GraphFace open = Face();
  open.inputs[0].dims = {{kAnySize, 3, kAnySize, kAnySize}};
  EXPECT_EQ(Difference(With("batch.x f32[B,3,S,S]", "batch.x f32[B,3,1,1]"), open, /*free=*/true),
            "the input 'batch_x' is float32 [B,3,1,1] in the record, float32 [?,3,?,?] in the graph");
}

TEST(GraphFace, HasParametersThatTheRecordReads) {
  const std::string unread =
      With("%6 f32[8,10]/[1,8] ^%1 = t %1\n%7 f32[B,10] = mm %5 %6 drop %5 %6", "%7 f32[B,10] = zeros [B,10] drop %5");
  EXPECT_EQ(Difference(unread, Face()), "no operator of the record reads 'fc.weight'");
  EXPECT_EQ(Difference(With("convolution %3 %0 - [1,1] [1,1] [1,1] F [0,0] 1", "my::op %3 %0"), Face()),
            "no convolution of the record reads 'conv.weight'");
  const std::string empty =
      "program eval\n%0 param conv.weight f32[8,3,3,3]\n%1 param fc.weight f32[10,8]\n%2 input batch.x f32[B,3,S,S]\n"
      "return\ntree 1\n";
  GraphFace none = Face();
  none.outputs.clear();
  EXPECT_EQ(Difference(empty, none), "the record has no operator");
  // A training step that reads nothing, beside an evaluation that is in order.
  const std::string programs = kPrograms;
  const std::string lazy = absl::StrCat(
      programs.substr(0, programs.find("program train")),
      "program train\n%0 param conv.weight f32[8,3,3,3]\n%1 param fc.weight f32[10,8]\n%2 input batch.x f32[B,3,S,S]\n"
      "%3 f32[B,10] = zeros [B,10]\nreturn %3\ntree 1\n");
  EXPECT_EQ(Difference(absl::StrReplaceAll(lazy.substr(lazy.find("program train")), {{"S,S", "32,32"}}), Face()),
            "no operator of the record reads the input 'batch_x'");
  EXPECT_EQ(Difference(lazy, Face()), "its training step reads less than half of the parameters that evaluation reads");
}

// A model that was exported as it trains, with the result of a head that evaluation lacks.
TEST(GraphFace, IsThatOfTheModeInWhichTheModelWas) {
  const std::string programs = kPrograms;
  const size_t train = programs.find("program train");
  const std::string two =
      absl::StrReplaceAll(programs.substr(train), {{"return %7", "return %7 %5"}, {"drop %5 %6", "drop %6"}});
  GraphFace face = Face();
  face.outputs.push_back({"mean", DType::kFloat32, {{kAnySize, 8}}});
  EXPECT_EQ(Difference(absl::StrCat(programs.substr(0, train), two), face), "");
  EXPECT_EQ(Difference(kPrograms, face), "the record returns 1 tensors, the graph 2");
}

// export(..., loss=(function, target)): a second input and a first output that the graph has not.
TEST(GraphFace, LacksTheLossThatWasRecordedWithIt) {
  const std::string train =
      "program train\n%0 param fc.weight f32[10,8]\n%1 input x f32[B,8]\n%2 input targets.0 f32[B,10]\n"
      "%3 f32[8,10]/[1,8] ^%0 = t %0\n%4 f32[B,10] = mm %1 %3 drop %3\n%5 f32[] = mse_loss %4 %2\nloss %5\n"
      "return %5 %4\ntree 2\n";
  const std::string both = absl::StrCat(absl::StrReplaceAll(train, {{"program train", "program eval"}}), train);
  const GraphFace face{.inputs = {{"x", DType::kFloat32, {{kAnySize, 8}}, true}},
                       .stored = {{"fc.weight", DType::kFloat32, {{10, 8}}, true}},
                       .outputs = {{"linear", DType::kFloat32, {{kAnySize, 10}}}},
                       .computes = true};
  EXPECT_EQ(Difference(both, face), "");
}

TEST(GraphFace, CannotCheckWithoutNames) {
  const absl::StatusOr<Record> record =
      ParseRecord(absl::StrCat("eager 1\ntorch 2.15.0\n", absl::StrReplaceAll(kPrograms, {{"S,S", "32,32"}})));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(CanCheck(*record, Face()));
  EXPECT_FALSE(CanCheck(*record, {.inputs = Face().inputs}));
  EXPECT_FALSE(CanCheck(*record, {.stored = Face().stored}));
}

}  // namespace
}  // namespace onnx_mem::record
