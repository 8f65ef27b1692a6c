#include "analyzer/devices/verdict.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

constexpr Need kNeed = {80, 100, 130};

TEST(Verdict, ChangesAtTheExpectedAndAtTheHighByte) {
  EXPECT_EQ(VerdictOf(kNeed, 99), Verdict::kDoesNotFit);
  EXPECT_EQ(VerdictOf(kNeed, 100), Verdict::kMayFit);
  EXPECT_EQ(VerdictOf(kNeed, 129), Verdict::kMayFit);
  EXPECT_EQ(VerdictOf(kNeed, 130), Verdict::kFits);
}

TEST(Verdict, IsYesOrNoWithoutARange) {
  EXPECT_EQ(VerdictOf({100, 100, 100}, 99), Verdict::kDoesNotFit);
  EXPECT_EQ(VerdictOf({100, 100, 100}, 100), Verdict::kFits);
}

TEST(Verdict, GetsWorseInItsOrder) {
  EXPECT_LT(Verdict::kFits, Verdict::kMayFit);
  EXPECT_LT(Verdict::kMayFit, Verdict::kDoesNotFit);
  EXPECT_EQ(NameOf(Verdict::kMayFit), "may-fit");
  EXPECT_EQ(WordsOf(Verdict::kDoesNotFit), "does not fit");
}

}  // namespace
}  // namespace onnx_mem
