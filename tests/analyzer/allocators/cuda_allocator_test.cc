// The worked examples of PyTorch's allocator, call by call, and its rounding rule.
#include "analyzer/allocators/cuda_allocator.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/analyzer/allocators/units.h"

namespace onnx_mem {
namespace {

constexpr int64_t kOutOfMemory = -1;

struct Call {
  char what;  // + allocate, - free, e empty the cache
  int64_t id;
  int64_t bytes;            // requested
  int64_t allocated_bytes;  // afterwards; kOutOfMemory: the call is refused
  int64_t reserved_bytes;
};

struct Example {
  const char* title;
  const char* allocator;
  AllocatorOptions options;
  std::vector<Call> calls;
  int64_t device_allocations;
  int64_t retries = 0;
};

AllocatorOptions Capacity(int64_t bytes) { return {.capacity_bytes = bytes}; }

AllocatorOptions Divisions(int64_t divisions) {
  AllocatorOptions options;
  options.cuda.roundup_power2_divisions.fill(divisions);
  return options;
}

AllocatorOptions MaxSplit(int64_t bytes) {
  AllocatorOptions options;
  options.cuda.max_split_size_bytes = bytes;
  return options;
}

const std::vector<Example>& Examples() {
  static const auto& examples = *new std::vector<Example>{
      {"1: one byte", "pytorch", {}, {{'+', 1, 1, 512, 2 * kMiB}}, 1},
      {"2: multiples of 512", "pytorch", {}, {{'+', 1, 513, 1024, 2 * kMiB}, {'+', 2, 512, 1536, 2 * kMiB}}, 1},
      {"3: 1 MiB is small",
       "pytorch",
       {},
       {{'+', 1, kMiB, kMiB, 2 * kMiB}, {'+', 2, kMiB, 2 * kMiB, 2 * kMiB}, {'+', 3, 512, 2'097'664, 4'194'304}},
       2},
      {"4: 1 MiB + 1 is large", "pytorch", {}, {{'+', 1, kMiB + 1, 1'049'088, 20'971'520}}, 1},
      {"5: 20 MiB segments for sizes below 10 MiB",
       "pytorch",
       {},
       {{'+', 1, 6 * kMiB, 6 * kMiB, 20 * kMiB},
        {'+', 2, 6 * kMiB, 12 * kMiB, 20 * kMiB},
        {'+', 3, 6 * kMiB, 18 * kMiB, 20 * kMiB},
        {'+', 4, 6 * kMiB, 24 * kMiB, 40 * kMiB}},
       2},
      {"6: 10 MiB has its own segment, a little less has not",
       "pytorch",
       {},
       {{'+', 1, 10 * kMiB, 10'485'760, 10'485'760}, {'+', 2, 10 * kMiB - 512, 20'971'008, 31'457'280}},
       2},
      {"7: 11 MiB rounds to 12, and 1 MiB is not cut off",
       "pytorch",
       {},
       {{'+', 1, 11 * kMiB, 12 * kMiB, 12 * kMiB},
        {'-', 1, 0, 0, 12 * kMiB},
        {'+', 2, 12 * kMiB, 12 * kMiB, 12 * kMiB}},
       1},
      {"8: a remainder of 1 MiB stays, 512 more are cut off",
       "pytorch",
       {},
       {{'+', 1, 20 * kMiB, 20 * kMiB, 20 * kMiB},
        {'-', 1, 0, 0, 20 * kMiB},
        {'+', 2, 19 * kMiB, 20 * kMiB, 20 * kMiB},
        {'-', 2, 0, 0, 20 * kMiB},
        {'+', 3, 19 * kMiB - 512, 19'922'432, 20'971'520}},
       1},
      {"9: best fit",
       "pytorch",
       {},
       {{'+', 1, 40 * kMiB, 40 * kMiB, 40 * kMiB},
        {'+', 2, 24 * kMiB, 64 * kMiB, 64 * kMiB},
        {'-', 1, 0, 24 * kMiB, 64 * kMiB},
        {'-', 2, 0, 0, 64 * kMiB},
        {'+', 3, 22 * kMiB, 22 * kMiB, 64 * kMiB}},
       2},
      {"10: neighbours merge",
       "pytorch",
       {},
       {{'+', 1, 6 * kMiB, 6 * kMiB, 20 * kMiB},
        {'+', 2, 6 * kMiB, 12 * kMiB, 20 * kMiB},
        {'+', 3, 6 * kMiB, 18 * kMiB, 20 * kMiB},
        {'-', 1, 0, 12 * kMiB, 20 * kMiB},
        {'-', 3, 0, 6 * kMiB, 20 * kMiB},
        {'-', 2, 0, 0, 20 * kMiB},
        {'+', 4, 18 * kMiB, 18 * kMiB, 20 * kMiB}},
       1},
      {"11: two holes do not make a block",
       "pytorch",
       {},
       {{'+', 1, 6 * kMiB, 6 * kMiB, 20 * kMiB},
        {'+', 2, 6 * kMiB, 12 * kMiB, 20 * kMiB},
        {'+', 3, 6 * kMiB, 18 * kMiB, 20 * kMiB},
        {'-', 1, 0, 12 * kMiB, 20 * kMiB},
        {'-', 3, 0, 6 * kMiB, 20 * kMiB},
        {'+', 4, 12 * kMiB, 18 * kMiB, 32 * kMiB}},
       2},
      {"12: the cache goes back before memory runs out",
       "pytorch",
       Capacity(64 * kMiB),
       {{'+', 1, 40 * kMiB, 40 * kMiB, 40 * kMiB},
        {'-', 1, 0, 0, 40 * kMiB},
        {'+', 2, 48 * kMiB, 48 * kMiB, 48 * kMiB}},
       2,
       1},
      {"13: a segment in part use cannot go back",
       "pytorch",
       Capacity(64 * kMiB),
       {{'+', 1, 40 * kMiB, 40 * kMiB, 40 * kMiB},
        {'-', 1, 0, 0, 40 * kMiB},
        {'+', 2, 4 * kMiB, 4 * kMiB, 40 * kMiB},
        {'+', 3, 50 * kMiB, kOutOfMemory, 40 * kMiB}},
       1,
       1},
      {"14: an expandable segment serves it",
       "pytorch-expandable",
       Capacity(64 * kMiB),
       {{'+', 1, 40 * kMiB, 40 * kMiB, 40 * kMiB},
        {'-', 1, 0, 0, 40 * kMiB},
        {'+', 2, 4 * kMiB, 4 * kMiB, 40 * kMiB},
        {'+', 3, 50 * kMiB, 56'623'104, 62'914'560}},
       2},
      {"15: expandable segments grow by what is missing, in 20 MiB pages",
       "pytorch-expandable",
       {},
       {{'+', 1, 11 * kMiB, 11 * kMiB, 20 * kMiB},
        {'+', 2, 11 * kMiB, 22 * kMiB, 40 * kMiB},
        {'-', 2, 0, 11 * kMiB, 40 * kMiB},
        {'+', 3, 30 * kMiB, 41 * kMiB, 60 * kMiB}},
       3},
      {"16: divisions of powers of two", "pytorch", Divisions(4), {{'+', 1, 1200 * kKiB, 1'310'720, 20'971'520}}, 1},
      {"17: oversize blocks serve oversize requests only",
       "pytorch",
       MaxSplit(100 * kMiB),
       {{'+', 1, 200 * kMiB, 200 * kMiB, 200 * kMiB},
        {'-', 1, 0, 0, 200 * kMiB},
        {'+', 2, 50 * kMiB, 50 * kMiB, 250 * kMiB},
        {'+', 3, 190 * kMiB, 250 * kMiB, 250 * kMiB}},
       2},
      {"18: emptying the cache keeps segments in part use",
       "pytorch",
       {},
       {{'+', 1, 30 * kMiB, 30 * kMiB, 30 * kMiB},
        {'+', 2, 3 * kMiB, 33 * kMiB, 50 * kMiB},
        {'-', 1, 0, 3 * kMiB, 50 * kMiB},
        {'e', 0, 0, 3 * kMiB, 20 * kMiB}},
       2},
      {"19: growing sizes leave slivers",
       "pytorch",
       {},
       {{'+', 1, 30 * kMiB, 30 * kMiB, 30 * kMiB},
        {'-', 1, 0, 0, 30 * kMiB},
        {'+', 2, 31 * kMiB, 32 * kMiB, 62 * kMiB},
        {'-', 2, 0, 0, 62 * kMiB},
        {'+', 3, 33 * kMiB, 34 * kMiB, 96 * kMiB}},
       3},
      {"20: 700 KiB do not fit three times into 2 MiB",
       "pytorch",
       {},
       {{'+', 1, 700 * kKiB, 716'800, 2 * kMiB},
        {'+', 2, 700 * kKiB, 1'433'600, 2 * kMiB},
        {'+', 3, 700 * kKiB, 2'150'400, 4 * kMiB}},
       2},

      // Beyond the twenty.
      {"nothing takes nothing", "pytorch", {}, {{'+', 1, 0, 0, 0}, {'-', 1, 0, 0, 0}}, 0},
      {"just enough oversize blocks go back",
       "pytorch",
       [] {
         AllocatorOptions options = MaxSplit(100 * kMiB);
         options.capacity_bytes = 600 * kMiB;
         return options;
       }(),
       {{'+', 1, 200 * kMiB, 200 * kMiB, 200 * kMiB},
        {'+', 2, 120 * kMiB, 320 * kMiB, 320 * kMiB},
        {'+', 3, 240 * kMiB, 560 * kMiB, 560 * kMiB},
        {'-', 1, 0, 360 * kMiB, 560 * kMiB},
        {'-', 2, 0, 240 * kMiB, 560 * kMiB},
        {'-', 3, 0, 0, 560 * kMiB},
        {'+', 4, 300 * kMiB, 300 * kMiB, 420 * kMiB}},  // 240 and 200 went, 120 stayed
       4},
      {"an expandable segment gives back pages in its middle and fills them again",
       "pytorch-expandable",
       Capacity(100 * kMiB),
       {{'+', 1, 20 * kMiB, 20 * kMiB, 20 * kMiB},
        {'+', 2, 40 * kMiB, 60 * kMiB, 60 * kMiB},
        {'+', 3, 20 * kMiB, 80 * kMiB, 80 * kMiB},
        {'-', 2, 0, 40 * kMiB, 80 * kMiB},
        {'e', 0, 0, 40 * kMiB, 40 * kMiB},
        {'+', 4, 30 * kMiB, 70 * kMiB, 80 * kMiB},
        {'+', 5, 30 * kMiB, kOutOfMemory, 80 * kMiB}},
       4,
       1},
      {"the growing end of an expandable segment is kept for what needs it",
       "pytorch-expandable",
       {},
       {{'+', 1, 12 * kMiB, 12 * kMiB, 20 * kMiB},
        {'+', 2, 20 * kMiB, 32 * kMiB, 40 * kMiB},  // at 12..32, 8 free at the end
        {'-', 1, 0, 20 * kMiB, 40 * kMiB},
        {'+', 3, 8 * kMiB, 28 * kMiB, 40 * kMiB},   // in the 12 MiB hole, not in the 8 MiB at the end
        {'+', 4, 25 * kMiB, 53 * kMiB, 60 * kMiB}},
       3},
  };
  return examples;
}

class WorkedExample : public testing::TestWithParam<Example> {};

TEST_P(WorkedExample, RunsCallByCall) {
  const Example& example = GetParam();
  const std::unique_ptr<Allocator> allocator = (*FindAllocator(example.allocator))->make(example.options);
  for (const Call& call : example.calls) {
    SCOPED_TRACE(testing::Message() << call.what << call.id << " " << call.bytes);
    const AllocatorState before = allocator->State();
    switch (call.what) {
      case '+': EXPECT_EQ(allocator->Alloc(call.id, call.bytes), call.allocated_bytes != kOutOfMemory); break;
      case '-': allocator->Free(call.id); break;
      default: allocator->EmptyCache(); break;
    }
    const AllocatorState after = allocator->State();
    const bool refused = call.allocated_bytes == kOutOfMemory;
    EXPECT_EQ(after.allocated_bytes, refused ? before.allocated_bytes : call.allocated_bytes);
    EXPECT_EQ(after.reserved_bytes, call.reserved_bytes);
  }
  EXPECT_EQ(allocator->State().device_allocations, example.device_allocations);
  EXPECT_EQ(allocator->State().retries, example.retries);
}

INSTANTIATE_TEST_SUITE_P(All, WorkedExample, testing::ValuesIn(Examples()),
                         [](const testing::TestParamInfo<Example>& info) { return absl::StrCat("N", info.index + 1); });

void PrintTo(const Example& example, std::ostream* out) { *out << example.title; }

TEST(RoundForCuda, RoundsUpTo512) {
  EXPECT_EQ(RoundForCuda(1, {}), 512);
  EXPECT_EQ(RoundForCuda(511, {}), 512);
  EXPECT_EQ(RoundForCuda(512, {}), 512);
  EXPECT_EQ(RoundForCuda(513, {}), 1024);
}

TEST(RoundForCuda, DividesPowersOfTwo) {
  const CudaAllocatorOptions four = Divisions(4).cuda;
  EXPECT_EQ(RoundForCuda(1, four), 512);
  EXPECT_EQ(RoundForCuda(2048, four), 2048);
  EXPECT_EQ(RoundForCuda(2049, four), 2560);
  EXPECT_EQ(RoundForCuda(5000, four), 5120);
  EXPECT_EQ(RoundForCuda(1 << 20, four), 1 << 20);
  EXPECT_EQ(RoundForCuda((1 << 20) + 1, four), (1 << 20) + (1 << 18));
  EXPECT_EQ(RoundForCuda((1 << 21) - 1, four), 1 << 21);
  // The number of steps is the power of two below it.
  EXPECT_EQ(RoundForCuda((1 << 20) + 1, Divisions(7).cuda), (1 << 20) + (1 << 18));
}

TEST(RoundForCuda, HasDivisionsPerPowerOfTwo) {
  CudaAllocatorOptions options;
  options.roundup_power2_divisions[2] = 8;  // from 4 to 8 MiB
  EXPECT_EQ(RoundForCuda(3 * kMiB + 1, options), 3 * kMiB + 512);
  EXPECT_EQ(RoundForCuda(4 * kMiB + 1, options), 4 * kMiB + 512 * kKiB);
  EXPECT_EQ(RoundForCuda(8 * kMiB + 1, options), 8 * kMiB + 512);
}

TEST(CudaAllocator, RefusesWhatNoDeviceHas) {
  for (const char* name : {"pytorch", "pytorch-expandable", "ort"}) {
    const std::unique_ptr<Allocator> allocator = (*FindAllocator(name))->make({});
    EXPECT_FALSE(allocator->Alloc(1, std::numeric_limits<int64_t>::max())) << name;
    EXPECT_EQ(allocator->State().reserved_bytes, 0) << name;
  }
}

}  // namespace
}  // namespace onnx_mem
