// A branch that no output needs, in a training step: it keeps what it saved until the last name on it is freed, and no
// longer.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/record/format/text.h"
#include "analyzer/record/lower/lower_record.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

// "op bytes" of each step of forward, beside the 128 of weight and input. A value here has 64 bytes.
std::string Forward(const std::string& lines) {
  absl::StatusOr<record::Record> record = record::ParseRecord(absl::StrCat(
      "eager 1\ntorch 2.15.0\nprogram train\n%0 param w f32[4,4]\n%1 input x f32[B,4]\n", lines, "tree 1\n"));
  EXPECT_TRUE(record.ok()) << record.status();
  Graph graph;
  graph.record = std::make_shared<const BoundRecord>(
      BoundRecord{.record = std::make_shared<const record::Record>(*std::move(record)), .place = {.batch = 4}});
  Run run;
  run.training = true;
  run.loss = LossKind::kMean;
  const absl::StatusOr<Enacted> enacted = Enact(graph, run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  if (!enacted.ok()) return "";
  const Timeline timeline = ComputeTimeline(enacted->program);
  std::string text;
  for (StepId id(0); enacted->program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = enacted->program.steps[id];
    if (step.phase != Phase::kForward) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", step.op.str(), " ",
                    timeline.live_bytes[static_cast<size_t>(id.value())] - 128);
  }
  return text;
}

constexpr char kStart[] = "%2 f32[B,4] = mm %1 %0\n";

TEST(DeadBranch, HoldsWhatItSavedWhileANameIsOnIt) {
  // Two results that exp saved, 3 and 4, beside 2, which sigmoid's input was; all but 6 and what sigmoid and exp saved
  // go.
  EXPECT_EQ(Forward(absl::StrCat(kStart,
                                 "%3 f32[B,4] = exp %2\n%4 f32[B,4] = exp %3 drop %3\n"
                                 "%5 f32[B,4] = sigmoid %2 drop %2\n%6 f32[B,4] = exp %5 drop %4 %5\nreturn %6\n")),
            "mm 64, exp 128, exp 192, sigmoid 256, exp 256");
}

TEST(DeadBranch, IsFreedWithItsLastName) {
  EXPECT_EQ(Forward(absl::StrCat(kStart,
                                 "%3 f32[B,4] = exp %2\n%4 f32[B,4] = exp %3 drop %3 %4\n"
                                 "%5 f32[B,4] = sigmoid %2 drop %2\n%6 f32[B,4] = exp %5 drop %5\nreturn %6\n")),
            "mm 64, exp 128, exp 192, sigmoid 128, exp 128");
}

TEST(DeadBranch, IsHeldByWhatWasMadeOfIt) {
  // A view of the branch's end leads to it.
  EXPECT_EQ(Forward(absl::StrCat(kStart,
                                 "%3 f32[B,4] = exp %2\n%4 f32[4,B]/[1,4] ^%3 = t %3 drop %3\n"
                                 "%5 f32[B,4] = sigmoid %2 drop %2\n%6 f32[B,4] = exp %5 drop %4 %5\nreturn %6\n")),
            "mm 64, exp 128, sigmoid 192, exp 192");
  // What was cut from it does not: 4 is the storage of 3, and exp's result with it.
  EXPECT_EQ(Forward(absl::StrCat(kStart,
                                 "%3 f32[B,4] = exp %2\n%4 f32[B,4] = neg %3 drop %3\n"
                                 "%5 f32[B,4] ^%4 = detach %4 drop %4\n%6 f32[B,4] = sigmoid %2 drop %2\n"
                                 "%7 f32[B,4] = exp %6 drop %5 %6\nreturn %7\n")),
            "mm 64, exp 128, neg 192, sigmoid 192, exp 192");
}

TEST(DeadBranch, OfATableIsNone) {
  // The index (32 bytes) of a largest value (16) has no history; the value's is freed with its name.
  EXPECT_EQ(Forward(absl::StrCat(kStart,
                                 "%3 f32[B,4] = exp %2 drop %2\n%4 f32[B], %5 i64[B] = max.dim %3 1 drop %4\n"
                                 "%6 f32[B,4] = sigmoid %3 drop %3 %5\nreturn %6\n")),
            "mm 64, exp 128, max 112, sigmoid 160");
}

}  // namespace
}  // namespace onnx_mem
