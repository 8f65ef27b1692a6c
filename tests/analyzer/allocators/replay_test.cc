#include "analyzer/allocators/replay.h"

#include <array>
#include <random>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/memory/verify_program.h"
#include "gtest/gtest.h"
#include "tests/analyzer/allocators/units.h"

namespace onnx_mem {
namespace {

struct Life {
  const char* name;
  Category category;
  int64_t bytes;
  int begin;
  int end;
};

MemoryProgram Program(int steps, const std::vector<Life>& lives) {
  MemoryProgram program;
  for (int i = 0; i < steps; ++i) program.steps.Add({});
  for (const Life& life : lives) {
    Buffer buffer;
    buffer.name = life.name;
    buffer.category = life.category;
    buffer.bytes = life.bytes;
    buffer.begin = StepId(life.begin);
    buffer.end = StepId(life.end);
    program.buffers.Add(buffer);
  }
  EXPECT_TRUE(VerifyProgram(program).ok());
  return program;
}

MemoryProgram RandomProgram(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<int>(random() % n); };
  const int steps = 1 + below(40);
  std::vector<Life> lives;
  const int count = below(120);
  for (int i = 0; i < count; ++i) {
    const bool fixed = below(4) == 0;
    const int begin = fixed ? 0 : below(static_cast<uint32_t>(steps));
    const int end = fixed ? steps : begin + 1 + below(static_cast<uint32_t>(steps - begin));
    const int64_t bytes = below(10) == 0 ? 0 : random() % (uint32_t{1} << below(27));
    lives.push_back({fixed ? "w" : "x", static_cast<Category>(below(kNumCategories)), bytes, begin, end});
  }
  return Program(steps, lives);
}

TEST(Replay, KnowsTheAllocators) {
  std::string names;
  for (const AllocatorRow& row : Allocators()) names += (names.empty() ? "" : ", ") + std::string(row.name);
  const absl::Status error = Replay(MemoryProgram(), {.allocator = "jemalloc"}).status();
  EXPECT_EQ(DiagnosticOf(error).code, Code::kUsage);
  EXPECT_EQ(DiagnosticOf(error).details, std::vector<std::string>{"known: " + names});
}

TEST(Replay, FreesBeforeItAllocates) {
  // y ends where z begins: z takes y's block.
  const MemoryProgram program = Program(2, {{"w", Category::kParameters, 30 * kMiB, 0, 2},
                                            {"y", Category::kTransientActivations, 40 * kMiB, 0, 1},
                                            {"z", Category::kTransientActivations, 40 * kMiB, 1, 2}});
  const AllocatorUsage usage = *Replay(program, {.per_step = true});
  EXPECT_EQ(usage.peak_live_bytes, 70 * kMiB);
  EXPECT_EQ(usage.peak_allocated_bytes, 70 * kMiB);
  EXPECT_EQ(usage.peak_reserved_bytes, 70 * kMiB);
  EXPECT_EQ(usage.device_allocations, 2);
  const StepUsage both = {70 * kMiB, 70 * kMiB, 70 * kMiB};
  EXPECT_EQ(usage.steps, (std::vector<StepUsage>{both, both}));
}

TEST(Replay, TheSecondStepUsesTheCacheOfTheFirst) {
  const MemoryProgram program = Program(1, {{"x", Category::kTransientActivations, 40 * kMiB, 0, 1}});
  EXPECT_EQ(Replay(program, {.repetitions = 5})->device_allocations, 1);
}

TEST(Replay, AShorterRunBeforeLeavesABlockThatIsTooSmall) {
  const auto run = [](int64_t bytes) {
    return ReplayScript(Program(
        1, {{"w", Category::kParameters, 30 * kMiB, 0, 1}, {"x", Category::kTransientActivations, bytes, 0, 1}}));
  };
  const ReplayScript shorter = run(20 * kMiB), longer = run(40 * kMiB);
  const auto reserved = [](std::vector<const ReplayScript*> runs) {
    return Replay(runs, {.repetitions = 1})->peak_reserved_bytes;
  };
  EXPECT_EQ(reserved({&longer}), 70 * kMiB);
  EXPECT_EQ(reserved({&shorter, &longer}), 90 * kMiB);
  EXPECT_EQ(reserved({&longer, &shorter, &longer}), 70 * kMiB);
}

TEST(Replay, CountsFragmentation) {
  // 24 free MiB in two pieces while 38 are in use.
  const MemoryProgram program = Program(2, {{"a", Category::kTransientActivations, 10 * kMiB, 0, 1},
                                            {"b", Category::kTransientActivations, 12 * kMiB, 0, 2},
                                            {"c", Category::kTransientActivations, 14 * kMiB, 0, 1},
                                            {"d", Category::kTransientActivations, 26 * kMiB, 1, 2}});
  const AllocatorUsage usage = *Replay(program, {.repetitions = 1});
  EXPECT_EQ(usage.peak_allocated_bytes, 38 * kMiB);
  EXPECT_EQ(usage.peak_reserved_bytes, 62 * kMiB);
}

TEST(Replay, SaysWhereMemoryRunsOut) {
  const MemoryProgram program = Program(3, {{"w", Category::kParameters, 30 * kMiB, 0, 3},
                                            {"y", Category::kTransientActivations, 40 * kMiB, 0, 2},
                                            {"z", Category::kTransientActivations, 40 * kMiB, 1, 2}});
  AllocatorOptions options;
  options.capacity_bytes = 100 * kMiB;
  for (const AllocatorRow& row : Allocators()) {
    const AllocatorUsage usage = *Replay(program, {.allocator = row.name, .options = options});
    ASSERT_TRUE(usage.out_of_memory.has_value()) << row.name;
    EXPECT_EQ(usage.out_of_memory->moment, (Moment{0, StepId(1)})) << row.name;
    EXPECT_EQ(usage.out_of_memory->buffer, BufferId(2)) << row.name;
    EXPECT_GE(usage.out_of_memory->state.allocated_bytes, 70 * kMiB) << row.name;
    EXPECT_LE(usage.peak_reserved_bytes, 100 * kMiB) << row.name;
  }
  options.capacity_bytes = 120 * kMiB;
  EXPECT_FALSE(Replay(program, {.options = options})->out_of_memory.has_value());
}

TEST(Replay, StateOfTheFirstStepIsKept) {
  // Step 1 makes the state late, in what the activation left; the steps after it find it there.
  const MemoryProgram first = Program(2, {{"w", Category::kParameters, 12 * kMiB, 0, 2},
                                          {"y", Category::kTransientActivations, 40 * kMiB, 0, 1},
                                          {"w.exp_avg", Category::kOptimizerState, 12 * kMiB, 1, 2}});
  const MemoryProgram steady = Program(2, {{"w", Category::kParameters, 12 * kMiB, 0, 2},
                                           {"w.exp_avg", Category::kOptimizerState, 12 * kMiB, 0, 2},
                                           {"y", Category::kTransientActivations, 40 * kMiB, 0, 1}});
  const AllocatorUsage alone = *Replay(steady);
  EXPECT_EQ(alone.peak_reserved_bytes, 64 * kMiB);
  const ReplayScript first_script(first), steady_script(steady);
  const AllocatorUsage usage = *Replay(std::to_array({&first_script, &steady_script}), {});
  // y's block was cut for the state, so step 2 needs another 40 MiB.
  EXPECT_EQ(usage.peak_reserved_bytes, 92 * kMiB);
  EXPECT_EQ(usage.peak_live_bytes, 64 * kMiB);
  EXPECT_EQ(usage.peak_allocated_bytes, 64 * kMiB);
  EXPECT_EQ(usage.device_allocations, 3);
}

TEST(Replay, WhatIsOnTheCpuHasNoBlock) {
  MemoryProgram program = Program(1, {{"w", Category::kParameters, kMiB, 0, 1}});
  const AllocatorUsage without = *Replay(program);
  Buffer step;
  step.name = "w.step";
  step.category = Category::kOptimizerState;
  step.bytes = 4;
  step.begin = StepId(0);
  step.end = StepId(1);
  step.on_cpu = true;
  const BufferId added = program.buffers.Add(step);
  EXPECT_EQ(Replay(program)->peak_allocated_bytes, without.peak_allocated_bytes);
  program.buffers[added].on_cpu = false;
  EXPECT_EQ(Replay(program)->peak_allocated_bytes, without.peak_allocated_bytes + 512);
}

TEST(Replay, OfNothing) {
  EXPECT_EQ(Replay(MemoryProgram())->peak_reserved_bytes, 0);
  EXPECT_EQ(Replay(Program(3, {}))->peak_reserved_bytes, 0);
}

class RandomReplay : public testing::TestWithParam<uint32_t> {};

// live <= allocated <= reserved at every step, for every allocator; the exact one is the timeline.
TEST_P(RandomReplay, LiveAllocatedReserved) {
  const MemoryProgram program = RandomProgram(GetParam());
  const Timeline timeline = ComputeTimeline(program);
  for (const AllocatorRow& row : Allocators()) {
    SCOPED_TRACE(std::string(row.name));
    const AllocatorUsage usage = *Replay(program, {.allocator = row.name, .repetitions = 3, .per_step = true});
    ASSERT_EQ(usage.steps.size(), program.steps.size());
    for (size_t i = 0; i < usage.steps.size(); ++i) {
      EXPECT_EQ(usage.steps[i].live_bytes, timeline.live_bytes[i]);
      EXPECT_LE(usage.steps[i].live_bytes, usage.steps[i].allocated_bytes);
      EXPECT_LE(usage.steps[i].allocated_bytes, usage.steps[i].reserved_bytes);
      EXPECT_LE(usage.steps[i].allocated_bytes, usage.peak_allocated_bytes);
      EXPECT_LE(usage.steps[i].reserved_bytes, usage.peak_reserved_bytes);
      if (row.name == "exact") {
        EXPECT_EQ(usage.steps[i].reserved_bytes, timeline.live_bytes[i]);
      }
    }
    EXPECT_EQ(usage.peak_live_bytes, timeline.peak_bytes);
    EXPECT_LE(usage.peak_allocated_bytes, usage.peak_reserved_bytes);
  }
}

// With the peak of the endless device as capacity it still fits, and nothing is ever taken beyond a capacity.
TEST_P(RandomReplay, CapacityHolds) {
  const MemoryProgram program = RandomProgram(GetParam());
  for (const AllocatorRow& row : Allocators()) {
    SCOPED_TRACE(std::string(row.name));
    const AllocatorUsage endless = *Replay(program, {.allocator = row.name});
    AllocatorOptions options;
    options.capacity_bytes = endless.peak_reserved_bytes;
    EXPECT_FALSE(Replay(program, {.allocator = row.name, .options = options})->out_of_memory.has_value());
    options.capacity_bytes = endless.peak_live_bytes - 1;
    if (endless.peak_live_bytes > 0) {
      const AllocatorUsage tight = *Replay(program, {.allocator = row.name, .options = options});
      EXPECT_TRUE(tight.out_of_memory.has_value());
      EXPECT_LE(tight.peak_reserved_bytes, *options.capacity_bytes);
      EXPECT_LE(tight.last_retries, tight.retries);
    }
  }
}

// Buffers that are alive together have memory of their own, within what is reserved.
TEST_P(RandomReplay, AddressesNeverOverlap) {
  const MemoryProgram program = RandomProgram(GetParam());
  for (const AllocatorRow& row : Allocators()) {
    SCOPED_TRACE(std::string(row.name));
    const std::vector<int64_t> addresses = Replay(program, {.allocator = row.name, .addresses = true})->addresses;
    if (addresses.empty()) continue;
    ASSERT_EQ(addresses.size(), program.buffers.size());
    for (size_t i = 0; i < addresses.size(); ++i) {
      const Buffer& a = program.buffers[BufferId(static_cast<int32_t>(i))];
      EXPECT_TRUE(addresses[i] >= 0 || a.bytes == 0 || row.client == Client::kSession) << a.name.str();
      for (size_t j = 0; j < i && addresses[i] >= 0; ++j) {
        const Buffer& b = program.buffers[BufferId(static_cast<int32_t>(j))];
        if (addresses[j] < 0 || a.begin >= b.end || b.begin >= a.end) continue;
        EXPECT_TRUE(addresses[i] + a.bytes <= addresses[j] || addresses[j] + b.bytes <= addresses[i]) << i << " " << j;
      }
    }
  }
}

TEST(Replay, PutsSegmentsOneBehindTheOther) {
  // Two segments of 20 MiB, in which three buffers of 8 MiB lie: two in the first.
  const MemoryProgram program = Program(1, {{"a", Category::kSavedActivations, 8 * kMiB, 0, 1},
                                            {"b", Category::kSavedActivations, 8 * kMiB, 0, 1},
                                            {"c", Category::kSavedActivations, 8 * kMiB, 0, 1},
                                            {"small", Category::kSavedActivations, 100, 0, 1}});
  EXPECT_EQ(Replay(program, {.addresses = true})->addresses, (std::vector<int64_t>{0, 8 * kMiB, 20 * kMiB, 40 * kMiB}));
  EXPECT_TRUE(Replay(program)->addresses.empty());
  EXPECT_TRUE(Replay(program, {.allocator = "exact", .addresses = true})->addresses.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomReplay, testing::Range(0u, 50u));

}  // namespace
}  // namespace onnx_mem
