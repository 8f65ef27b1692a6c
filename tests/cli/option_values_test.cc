#include "cli/options/option_values.h"

#include <gtest/gtest.h>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

TEST(ParseBatches, NumbersListsAndRanges) {
  EXPECT_EQ(*ParseBatches("64"), (std::vector<int64_t>{64}));
  EXPECT_EQ(*ParseBatches("1,8,64"), (std::vector<int64_t>{1, 8, 64}));
  EXPECT_EQ(*ParseBatches("1..4"), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(*ParseBatches("8,1..3,2"), (std::vector<int64_t>{8, 1, 2, 3}));
  EXPECT_EQ(*ParseBatches("9223372036854775807"), (std::vector<int64_t>{9223372036854775807}));
}

TEST(ParseBatches, RefusesEverythingElse) {
  for (const char* text : {"", "foo", "1,", ",1", "1..", "..4", "1..2..3", "1.5", "0", "-1", "4..1", "0..3", "64x",
                           "99999999999999999999", "1..1000000000000"}) {
    EXPECT_FALSE(ParseBatches(text).ok()) << text;
  }
  EXPECT_EQ(ParseBatches("foo").status().message(), "'foo' is not a number, list (8,16) or range (1..64)");
}

TEST(ParseNames, BetweenCommas) {
  EXPECT_EQ(*ParseNames("layer1"), (std::vector<std::string>{"layer1"}));
  EXPECT_EQ(*ParseNames("layer1.0, layer1.1"), (std::vector<std::string>{"layer1.0", "layer1.1"}));
  EXPECT_EQ(*ParseNames("RTX 4090"), (std::vector<std::string>{"RTX 4090"}));
  for (const char* text : {"", " ", ",", "a,", ",a", "a,,b", "a, ,b"}) EXPECT_FALSE(ParseNames(text).ok()) << text;
  EXPECT_EQ(ParseNames("a,,b").status().message(), "'a,,b' has no name after a comma");
}

TEST(ParseDimBinding, SplitsAtTheLastSign) {
  EXPECT_EQ(*ParseDimBinding("seq=512"), std::make_pair(std::string("seq"), int64_t{512}));
  EXPECT_EQ(ParseDimBinding("a=b=3")->first, "a=b");
  for (const char* text : {"seq", "seq=", "=3", "seq=x", "seq=-1"}) EXPECT_FALSE(ParseDimBinding(text).ok());
}

TEST(ParseInputShape, DimsBetweenX) {
  EXPECT_EQ(ParseInputShape("x=1x3x224x224")->second, (Dims{1, 3, 224, 224}));
  EXPECT_EQ(ParseInputShape("x=8")->second, (Dims{8}));
  EXPECT_EQ(ParseInputShape("x=scalar")->second, Dims());
  EXPECT_EQ(ParseInputShape("x=0x3")->second, (Dims{0, 3}));
  for (const char* text : {"x", "x=", "=3", "x=1x", "x=axb", "x=1x-3"}) EXPECT_FALSE(ParseInputShape(text).ok());
}

TEST(ParseSize, WantsAUnit) {
  EXPECT_EQ(*ParseSize("8589934592B"), int64_t{8} << 30);
  EXPECT_EQ(*ParseSize("8GiB"), int64_t{8} << 30);
  EXPECT_EQ(*ParseSize("0"), 0);
  const std::vector<std::pair<std::string, std::string>> bare = {
      {"4", "did you mean: 4GiB      (bytes: 4B)"},
      {"1.5", "did you mean: 1.5GiB      (bytes: 1.5B)"},
      {"24564", "did you mean: 24564MiB      (bytes: 24564B)"},
      {"8589934592", "did you mean: 8589934592B      (8.00 GiB)"},
  };
  for (const auto& [text, hint] : bare) {
    const Diagnostic error = DiagnosticOf(ParseSize(text).status());
    EXPECT_EQ(error.message, "'" + text + "' is a number without a unit");
    EXPECT_EQ(error.details, std::vector<std::string>{hint});
  }
}

TEST(ParseProbability, FromZeroToLessThanOne) {
  EXPECT_EQ(*ParseProbability("0.1"), 0.1);
  EXPECT_EQ(*ParseProbability("0"), 0);
  for (const char* text : {"1", "-0.1", "-0.0", "nan", "inf", "1e400", "0x0.1", "10%", "p", "", "0.1x"})
    EXPECT_FALSE(ParseProbability(text).ok()) << text;
}

TEST(ParseExport, NeedsAKnownFormat) {
  EXPECT_EQ(*ParseExport("a/b.json"), (Export{"json", "a/b.json"}));
  EXPECT_EQ(*ParseExport("md=report"), (Export{"md", "report"}));
  for (const char* text : {"report", "a.xyz", "xml=a.json", "json=", "a.b/c"}) EXPECT_FALSE(ParseExport(text).ok());
}

TEST(CheckRegex, RefusesWhatIsMalformed) {
  EXPECT_TRUE(CheckRegex("layer[12]\\..*").ok());
  EXPECT_FALSE(CheckRegex("layer[").ok());
}

}  // namespace
}  // namespace onnx_mem
