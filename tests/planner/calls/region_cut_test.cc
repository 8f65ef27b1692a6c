#include "planner/calls/region_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

namespace onnx_mem {
namespace {

using Point = std::pair<int64_t, int64_t>;  // bytes, cost

CutRegion RandomRegion(std::mt19937& random) {
  const auto below = [&](int64_t count) { return static_cast<int32_t>(random() % static_cast<unsigned>(count)); };
  CutRegion region;
  const int32_t calls = 2 + below(5);
  for (int32_t i = 0; i < calls; ++i) {
    const auto known = static_cast<int32_t>(region.bytes.size());
    CutRegion::Call call{.cost = below(12) == 0 ? CutRegion::kNever : below(9)};
    for (int32_t k = below(3); k > 0 && known > 0; --k) call.reads.push_back(below(known));
    for (int32_t k = 1 + below(2); k > 0; --k) {
      call.makes.push_back(static_cast<int32_t>(region.bytes.size()));
      region.bytes.push_back(below(12) == 0 ? CutRegion::kNever : below(9));
    }
    if (i > 0 && below(6) == 0) region.together.push_back({below(i), i});
    region.calls.push_back(std::move(call));
  }
  for (int32_t v = 0; v < static_cast<int32_t>(region.bytes.size()); ++v) {
    if (below(2) == 0) region.saved.push_back(v);
  }
  return region;
}

// Bytes and cost where just these calls run again; nullopt where that cannot be.
std::optional<Point> PointOf(const CutRegion& region, unsigned again) {
  const auto runs = [&](size_t call) { return (again >> call & 1U) != 0; };
  std::vector<bool> needed(region.bytes.size(), false), made(region.bytes.size(), false);
  for (int32_t value : region.saved) needed[static_cast<size_t>(value)] = true;
  Point point{0, 0};
  for (size_t i = 0; i < region.calls.size(); ++i) {
    if (!runs(i)) continue;
    if (region.calls[i].cost == CutRegion::kNever) return std::nullopt;
    point.second += region.calls[i].cost;
    for (int32_t value : region.calls[i].reads) needed[static_cast<size_t>(value)] = true;
    for (int32_t value : region.calls[i].makes) made[static_cast<size_t>(value)] = true;
  }
  for (const auto& [first, then] : region.together) {
    if (runs(static_cast<size_t>(first)) && !runs(static_cast<size_t>(then))) return std::nullopt;
  }
  for (size_t v = 0; v < needed.size(); ++v) {
    if (!needed[v] || made[v]) continue;
    if (region.bytes[v] == CutRegion::kNever) return std::nullopt;
    point.first += region.bytes[v];
  }
  return point;
}

// The corners of the lower convex hull of all choices, the ends included.
std::vector<Point> HullOf(std::vector<Point> all) {
  std::vector<Point> hull;
  std::sort(all.begin(), all.end());
  for (const Point& point : all) {
    if (!hull.empty() && point.second >= hull.back().second) continue;
    const auto turns = [&](const Point& a, const Point& b) {
      return (b.first - a.first) * (point.second - a.second) <= (b.second - a.second) * (point.first - a.first);
    };
    while (hull.size() > 1 && turns(hull[hull.size() - 2], hull.back())) hull.pop_back();
    hull.push_back(point);
  }
  return hull;
}

std::vector<Point> HullByTrying(const CutRegion& region) {
  std::vector<Point> all;
  for (unsigned again = 0; again < 1U << region.calls.size(); ++again) {
    if (const std::optional<Point> point = PointOf(region, again)) all.push_back(*point);
  }
  return HullOf(std::move(all));
}

std::vector<Point> PointsOf(const std::vector<CutOption>& options) {
  std::vector<Point> points;
  for (const CutOption& option : options) points.emplace_back(option.held_bytes, option.cost);
  return points;
}

TEST(FrontOf, HasTheCornersOfAllChoices) {
  std::mt19937 random(11);
  int impossible = 0, with_inner_corners = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const CutRegion region = RandomRegion(random);
    const std::vector<Point> hull = HullByTrying(region);
    EXPECT_EQ(PointsOf(FrontOf(region, {.one_by_one = false}).options), hull) << trial;
    impossible += hull.empty() ? 1 : 0;
    with_inner_corners += hull.size() > 2 ? 1 : 0;
  }
  EXPECT_GT(impossible, 20);
  EXPECT_GT(with_inner_corners, 200);
}

// All points where just these calls run again, and of what is held any part is moved.
std::vector<Point> PointsWithMoves(const CutRegion& region, unsigned again) {
  CutRegion free = region;  // what is neither made nor moved counts below
  std::vector<Point> points;
  const std::optional<Point> base = [&] {
    std::fill(free.bytes.begin(), free.bytes.end(), 0);
    return PointOf(free, again);
  }();
  if (!base) return points;
  points.push_back(*base);
  for (size_t v = 0; v < region.bytes.size(); ++v) {
    free.bytes[v] = 1;
    const bool held = PointOf(free, again)->first > 0;
    free.bytes[v] = 0;
    if (!held) continue;
    std::vector<Point> more;
    for (const auto& [bytes, cost] : points) {
      if (region.bytes[v] == CutRegion::kNever) continue;
      more.emplace_back(bytes + region.bytes[v], cost);
      if (region.move_cost[v] != CutRegion::kNever) more.emplace_back(bytes, cost + region.move_cost[v]);
    }
    points = std::move(more);
  }
  return points;
}

TEST(FrontOf, HasTheCornersWhereValuesMayMove) {
  std::mt19937 random(14);
  int moving = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    CutRegion region = RandomRegion(random);
    for (size_t v = 0; v < region.bytes.size(); ++v)
      region.move_cost.push_back(random() % 3 == 0 ? CutRegion::kNever : static_cast<int64_t>(random() % 6));
    std::vector<Point> all;
    for (unsigned again = 0; again < 1U << region.calls.size(); ++again) {
      const std::vector<Point> points = PointsWithMoves(region, again);
      all.insert(all.end(), points.begin(), points.end());
    }
    const CutFront front = FrontOf(region, {.one_by_one = false});
    const std::vector<Point> found = PointsOf(front.options);
    for (const Point& point : found) EXPECT_NE(std::find(all.begin(), all.end(), point), all.end()) << trial;
    EXPECT_EQ(HullOf(found), HullOf(std::move(all))) << trial;
    for (const CutOption& option : front.options) moving += option.moved.empty() ? 0 : 1;
  }
  EXPECT_GT(moving, 500);
}

TEST(FrontOf, EachOptionIsWhatItSays) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 500; ++trial) {
    const CutRegion region = RandomRegion(random);
    for (const CutOption& option : FrontOf(region).options) {
      unsigned again = 0;
      for (int32_t call : option.again) again |= 1U << call;
      EXPECT_EQ(PointOf(region, again), std::optional(Point(option.held_bytes, option.cost)));
    }
  }
}

TEST(FrontOf, WhatItProvesHoldsForAllChoices) {
  std::mt19937 random(13);
  int above_none = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const CutRegion region = RandomRegion(random);
    const CutFront front = FrontOf(region);
    ASSERT_EQ(front.least_cost.size(), front.options.size());
    for (unsigned again = 0; again < 1U << region.calls.size(); ++again) {
      const std::optional<Point> point = PointOf(region, again);
      if (!point) continue;
      EXPECT_GE(point->first, front.least_bytes);
      for (size_t i = 0; i + 1 < front.options.size(); ++i) {
        if (point->first > front.options[i + 1].held_bytes) continue;
        EXPECT_GE(point->second, front.least_cost[i]);
        above_none += front.least_cost[i] > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(above_none, 1000);
}

// Four equal blocks: at one price all of them change.
TEST(FrontOf, EqualBlocksChangeOneByOne) {
  CutRegion region;
  for (int32_t i = 0; i < 4; ++i) {
    region.calls.push_back({.reads = {}, .makes = {i}, .cost = 10});
    region.bytes.push_back(1000);
    region.saved.push_back(i);
  }
  EXPECT_EQ(PointsOf(FrontOf(region, {.one_by_one = false}).options), (std::vector<Point>{{0, 40}, {4000, 0}}));
  EXPECT_EQ(PointsOf(FrontOf(region).options),
            (std::vector<Point>{{0, 40}, {1000, 30}, {2000, 20}, {3000, 10}, {4000, 0}}));
}

}  // namespace
}  // namespace onnx_mem
