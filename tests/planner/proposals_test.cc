#include "planner/search/proposals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/planner/profile_of.h"

namespace onnx_mem {
namespace {

void ForEachChoice(const Profile& profile, const std::function<void(const Choice&)>& visit) {
  Choice choice;
  const std::function<void(size_t, int32_t)> extend = [&](size_t from, int32_t next) {
    visit(choice);
    for (size_t i = from; i < profile.candidates.size(); ++i) {
      if (profile.candidates[i].first < next) continue;
      choice.push_back(static_cast<int32_t>(i));
      extend(i + 1, profile.candidates[i].last + 1);
      choice.pop_back();
    }
  };
  extend(0, 0);
}

void ExpectLegal(const Profile& profile, const Choice& choice) {
  int32_t next = 0;
  for (int32_t c : choice) {
    const Candidate& candidate = profile.candidates[static_cast<size_t>(c)];
    EXPECT_GE(candidate.first, next);
    next = candidate.last + 1;
  }
}

TEST(Proposals, AreDisjointAndInOrder) {
  for (int seed = 0; seed < 20; ++seed) {
    const Profile profile = RandomProfile(seed, 9, 4);
    for (const ProposalRow& row : ProposalRows()) {
      const std::vector<Choice> choices = row.propose(profile);
      EXPECT_FALSE(choices.empty()) << row.name;
      for (const Choice& choice : choices) ExpectLegal(profile, choice);
    }
  }
}

// For its estimate of the peak, nothing that the dynamic programme proposes could have been cheaper.
TEST(ProposeChain, IsAsCheapAsEveryChoice) {
  int proposed = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const Profile profile = RandomProfile(seed, 7, 3);
    std::vector<Score> all;
    ForEachChoice(profile, [&](const Choice& choice) { all.push_back(Estimate(profile, choice)); });
    int64_t least = profile.baseline_peak;
    for (const Score& score : all) least = std::min(least, score.peak_bytes);
    int64_t reached = profile.baseline_peak;
    for (const Choice& choice : ProposeChain(profile)) {
      const Score score = Estimate(profile, choice);
      reached = std::min(reached, score.peak_bytes);
      for (const Score& other : all) {
        EXPECT_FALSE(other.peak_bytes <= score.peak_bytes && other.cost < score.cost) << seed;
      }
      ++proposed;
    }
    EXPECT_LE(reached, least + profile.baseline_peak / 4096 + 1) << seed;
  }
  EXPECT_GT(proposed, 200);
}

TEST(ProposeSqrtN, CutsIntoAboutSqrtNSegments) {
  const Profile profile = RandomProfile(1, 16, 16);
  for (const Choice& choice : ProposeSqrtN(profile)) {
    EXPECT_GE(choice.size(), size_t{4});
    EXPECT_LE(choice.size(), size_t{8});
  }
}

TEST(ProposeChen, ProceedsFromSmallSegmentsToLarge) {
  const Profile profile = RandomProfile(2, 12, 12);
  std::set<size_t> lengths;
  for (const Choice& choice : ProposeChen(profile)) {
    const Candidate& first = profile.candidates[static_cast<size_t>(choice.front())];
    lengths.insert(static_cast<size_t>(first.last - first.first + 1));
  }
  EXPECT_TRUE(lengths.contains(1));
  EXPECT_TRUE(lengths.contains(12));
}

TEST(CoverWithin, TakesTheLongestThatIsLightEnough) {
  const Profile profile = RandomProfile(3, 6, 3);
  std::vector<int64_t> nodes;
  for (const Candidate& c : profile.candidates) nodes.push_back(c.last - c.first + 1);
  const Choice choice = CoverWithin(profile, nodes, 2);
  ASSERT_EQ(choice.size(), size_t{3});
  for (int32_t c : choice) EXPECT_EQ(nodes[static_cast<size_t>(c)], 2);
}

}  // namespace
}  // namespace onnx_mem
