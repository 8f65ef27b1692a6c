#include "analyzer/compare/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace onnx_mem {
namespace {

using Pairs = std::vector<MatchedPair>;

// Units that only have a name and a kind, as nodes of a file that tells no modules.
std::vector<MatchUnit> Nodes(const std::vector<std::pair<std::string, std::string>>& names) {
  std::vector<MatchUnit> units;
  for (const auto& [name, kind] : names) units.push_back({"", name, kind});
  return units;
}

std::vector<MatchUnit> Kinds(std::string_view letters) {
  std::vector<MatchUnit> units;
  for (char letter : letters) units.push_back({"", "", std::string(1, letter)});
  return units;
}

TEST(MatchUnits, PathsMatchWhateverTheyDo) {
  EXPECT_EQ(
      MatchUnits({{{"layer1", "", "conv"}, {"fc", "", "linear"}}}, {{{"fc", "", "conv"}, {"layer1", "", "conv"}}}),
      (Pairs{{0, 1}, {1, 0}}));
}

TEST(MatchUnits, NamesMatchOnlyTheirOwnKind) {
  // Exporters number names, so that an inserted node shifts the others: /Add_1 of the head is another node.
  EXPECT_EQ(MatchUnits(Nodes({{"/Add_1", "add"}, {"/Add_2", "relu"}}), Nodes({{"/Add_1", "cast"}, {"/Add_2", "relu"}})),
            (Pairs{{1, 1}}));
}

TEST(MatchUnits, OnePathSeveralTimesIsMatchedInOrder) {
  const std::vector<MatchUnit> thrice = {{"rnn", "", "a"}, {"rnn", "", "b"}, {"rnn", "", "c"}};
  EXPECT_EQ(MatchUnits(thrice, {{{"rnn", "", "x"}, {"rnn", "", "y"}}}), (Pairs{{0, 0}, {1, 1}}));
}

TEST(MatchUnits, PositionMatchesWhatNamesLeave) {
  // The head has a cast more, and every other name.
  EXPECT_EQ(MatchUnits(Nodes({{"Conv_0", "conv"}, {"Relu_1", "relu"}, {"Conv_2", "conv"}}),
                       Nodes({{"n1", "conv"}, {"n2", "cast"}, {"n3", "relu"}, {"n4", "conv"}})),
            (Pairs{{0, 0}, {1, 2}, {2, 3}}));
}

TEST(MatchUnits, PositionStaysBetweenWhatNamesMatched) {
  std::vector<MatchUnit> base = Kinds("rrx"), head = Kinds("xrr");
  base[2].path = head[0].path = "fc";  // before it in one, after it in the other
  EXPECT_EQ(MatchUnits(base, head), (Pairs{{2, 0}}));
}

TEST(MatchUnits, AKindOfNothingMatchesNothing) {
  EXPECT_EQ(MatchUnits(Kinds("ab"), {}), Pairs());
  EXPECT_EQ(MatchUnits({{{"", "", ""}}}, {{{"", "", ""}}}), Pairs());
}

TEST(MatchUnits, SwappingTheSidesSwapsThePairs) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto letters = [&] {
      std::string text(random() % 12, 'a');
      for (char& letter : text) letter = static_cast<char>('a' + random() % 3);
      return text;
    };
    std::vector<MatchUnit> base = Kinds(letters()), head = Kinds(letters());
    for (auto* side : {&base, &head}) {
      for (MatchUnit& unit : *side) {
        if (random() % 4 == 0) unit.path = std::string(1, static_cast<char>('p' + random() % 3));
        if (random() % 4 == 0) unit.name = std::string(1, static_cast<char>('m' + random() % 3));
      }
    }
    Pairs swapped = MatchUnits(head, base);
    for (MatchedPair& pair : swapped) std::swap(pair.base, pair.head);
    std::sort(swapped.begin(), swapped.end(), [](const auto& a, const auto& b) { return a.base < b.base; });
    EXPECT_EQ(MatchUnits(base, head), swapped) << round;
  }
}

TEST(MatchUnits, AUnitIsItsOwnMatch) {
  const std::vector<MatchUnit> units = Kinds("abcabcaabbcc");
  const Pairs pairs = MatchUnits(units, units);
  ASSERT_EQ(pairs.size(), units.size());
  for (size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs[i], (MatchedPair{i, i}));
}

TEST(MatchUnits, LongUnnamedSequencesEnd) {
  const std::vector<MatchUnit> base = Kinds(std::string(20000, 'a')), head = Kinds(std::string(30000, 'a'));
  EXPECT_EQ(MatchUnits(base, head).size(), 20000u);
}

}  // namespace
}  // namespace onnx_mem
