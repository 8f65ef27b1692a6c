#include "report/parts/layout.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

TEST(Shortened, CutsTheMiddle) {
  EXPECT_EQ(Shortened("layer4.1.conv3", 14, true), "layer4.1.conv3");
  EXPECT_EQ(Shortened("layer4.1.conv3", 11, true), "layer…conv3");
  EXPECT_EQ(Shortened("layer4.1.conv3", 11, false), "laye...onv3");
  EXPECT_EQ(Shortened("layer4.1.conv3", 1, true), "l");
}

TEST(FirstWords, LeavesOutTheLastWords) {
  EXPECT_EQ(FirstWords("accuracy; scale the loss", 24, true), "accuracy; scale the loss");
  EXPECT_EQ(FirstWords("accuracy; scale the loss", 23, true), "accuracy; scale the …");
  EXPECT_EQ(FirstWords("accuracy; scale the loss", 21, false), "accuracy; scale ...");
  EXPECT_EQ(FirstWords("expandable_segments:True", 11, true), "expan…:True");
}

TEST(Shortened, CountsCharactersNotBytes) {
  EXPECT_EQ(Shortened("détaché", 7, true), "détaché");
  EXPECT_EQ(Shortened("détaché", 5, true), "dé…hé");
  EXPECT_EQ(DisplayWidth("détaché"), 7u);
}

TEST(Shortened, NeverLetsAControlCharacterThrough) { EXPECT_EQ(Shortened("a\x1b[31mb\n", 20, true), "a?[31mb?"); }

TEST(Pad, FillsToTheWidth) {
  EXPECT_EQ(PadLeft("5 MiB", 8), "   5 MiB");
  EXPECT_EQ(PadRight("dé", 4), "dé  ");
  EXPECT_EQ(PadRight("longer", 4), "longer");
}

TEST(Bar, HasEighthsOfAColumn) {
  EXPECT_EQ(Bar(0.5, 4, true), "██");
  EXPECT_EQ(Bar(0.53125, 4, true), "██▏");
  EXPECT_EQ(Bar(0.53, 4, false), "##");
  EXPECT_EQ(Bar(0, 4, true), "");
  EXPECT_EQ(Bar(7, 4, true), "████");
}

TEST(Sparkline, OnlyThePeakReachesTheTop) {
  EXPECT_EQ(Sparkline({0, 50, 99, 100, 25}, true), "▁▄▇█▂");
  EXPECT_EQ(Sparkline({0, 50, 99, 100, 25}, false), "_-*#.");
  EXPECT_EQ(Sparkline({}, true), "");
  EXPECT_EQ(Sparkline({0, 0}, true), "▁▁");
}

TEST(ColumnsOf, KeepsTheLargestOfTheStepsOfAColumn) {
  const std::vector<PhaseSpan> phases = {{Phase::kForward, 4}, {Phase::kBackward, 4}};
  const SparkColumns columns = ColumnsOf({1, 2, 3, 9, 8, 4, 2, 1}, phases, 4);
  EXPECT_EQ(columns.bytes, (std::vector<int64_t>{2, 9, 8, 2}));
  EXPECT_EQ(columns.widths, (std::vector<size_t>{2, 2}));
}

TEST(ColumnsOf, GivesAShortPhaseAColumn) {
  std::vector<int64_t> live(100, 5);
  live[99] = 7;
  const SparkColumns columns = ColumnsOf(live, {{Phase::kForward, 99}, {Phase::kLoss, 1}}, 10);
  EXPECT_EQ(columns.widths, (std::vector<size_t>{9, 1}));
  EXPECT_EQ(columns.bytes.size(), 10u);
  EXPECT_EQ(columns.bytes.back(), 7);
}

TEST(ColumnsOf, GivesEachStepAColumnWhereThereIsRoom) {
  EXPECT_EQ(ColumnsOf({1, 2, 3}, {{Phase::kForward, 3}}, 60).bytes, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(ColumnsOf({}, {}, 60).bytes.empty());
}

TEST(ColumnsOf, GivesUpWhenThereAreMorePhasesThanColumns) {
  std::vector<PhaseSpan> phases;
  for (int i = 0; i < 100; ++i) phases.push_back({i % 2 ? Phase::kForward : Phase::kBackward, 1});
  EXPECT_TRUE(ColumnsOf(std::vector<int64_t>(100, 1), phases, 60).bytes.empty());
}

TEST(PhaseRuler, StandsUnderTheColumns) {
  EXPECT_EQ(PhaseRuler({"forward", "backward"}, {13, 13}, true), "├─ forward ──┼─ backward ─┤");
  EXPECT_EQ(PhaseRuler({"forward", "loss", "backward"}, {13, 1, 13}, false), "|- forward --||- backward -|");
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("one two three four", 9, 2, 4), "  one two\n    three\n    four");
  EXPECT_EQ(Wrapped("incompressible", 5, 0, 0), "incompressible");
}

TEST(FirstWords, AreNeverWiderThanTheirRoom) {
  const std::string text = "one two, three; fourandfive six";
  for (size_t width = 4; width < 40; ++width) {
    for (bool utf8 : {true, false}) EXPECT_LE(DisplayWidth(FirstWords(text, width, utf8)), width) << width;
  }
}

TEST(Aligned, PadsEachColumnToItsWidest) {
  const TextTable table{{{false, true, false}, {true, false, false}}, {{"name", "bytes"}, {"a long name", "5"}}};
  EXPECT_EQ(Aligned(table, 1, 2, Screen()), (std::vector<std::string>{" name         bytes", " a long name      5"}));
}

TEST(Aligned, ShortensNamesThenLeavesOutOptionalColumns) {
  const TextTable table{
      {{.shrinks = true}, {.right = true}, {.right = true, .optional = true}, {.right = true, .optional = true}},
      {{"a.rather.long.module.name.of.a.layer", "123456", "first", "second"}}};
  Screen screen;
  screen.width = 50;
  EXPECT_EQ(Aligned(table, 0, 1, screen),
            (std::vector<std::string>{"a.rather.long...ame.of.a.layer 123456 first second"}));
  screen.width = 40;
  EXPECT_EQ(Aligned(table, 0, 1, screen), (std::vector<std::string>{"a.rather.lon...e.of.a.layer 123456 first"}));
  screen.width = 10;  // no less than the name and the numbers
  EXPECT_EQ(Aligned(table, 0, 1, screen), (std::vector<std::string>{"a.rather.l....of.a.layer 123456"}));
}

}  // namespace
}  // namespace onnx_mem
