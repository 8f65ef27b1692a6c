// What is proven of the device must hold for every plan that was replayed through the allocator, and be no less than
// what is proven of the bytes alive.
#include "planner/search/device_bound.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/measure/plan.h"

namespace onnx_mem {
namespace {

struct BoundCase {
  const char* name;
  int64_t batch;
};

TEST(DeviceBound, NoReplayedPlanBeatsIt) {
  for (const BoundCase& c : {BoundCase{"resnet18.train.ts.op17.onnx", 8}, BoundCase{"unet_seg.train.ts.op17.onnx", 2},
                             BoundCase{"vit_b_16.train.ts.op17.onnx", 2}}) {
    for (const char* allocator : {"pytorch", "pytorch-expandable"}) {
      SCOPED_TRACE(std::string(c.name) + " " + allocator);
      Workload workload;
      workload.mode = Mode::kTraining;
      workload.bindings.batch = c.batch;
      workload.allocator = allocator;
      const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + c.name);
      ASSERT_TRUE(file.ok()) << file.status();
      Study study(*file);
      PlanRequest request;
      request.iteration_limit = 40;
      request.time_limit_s = 0.3;
      const auto answer = PlanModel(study, workload, request);
      ASSERT_TRUE(answer.ok()) << answer.status();
      auto accountant = Accountant::Create(study, workload, request.clock, CostLine::kFlops);
      ASSERT_TRUE(accountant.ok());
      const auto prover = Prover::Create(*accountant, CostLine::kFlops, BudgetLine::kDevice);
      ASSERT_TRUE(prover.ok());
      const std::vector<Candidate> candidates = FindCandidates(accountant->lowered()).list;
      const auto bound = DeviceBound::Create(*accountant, *prover, candidates);
      ASSERT_TRUE(bound.has_value());
      const SegmentBound live(*prover->LimitSegments(candidates));
      EXPECT_GT(bound->Floor(), accountant->LeastDeviceBytes(live.Floor()));
      EXPECT_FALSE(bound->LeastCost(bound->Floor() - 1).has_value());
      for (const ModulePlan& plan : answer->plans) {
        SCOPED_TRACE(plan.label);
        EXPECT_GE(plan.measured.device_bytes, bound->Floor());
        EXPECT_GE(plan.measured.device_bytes, accountant->LeastDeviceBytes(prover->minimum().bytes));
        const auto cost = bound->LeastCost(plan.measured.device_bytes);
        ASSERT_TRUE(cost.has_value());
        EXPECT_LE(*cost, plan.measured.recompute_flops);
      }
    }
  }
}

TEST(DeviceBound, OtherAllocatorsHaveNone) {
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.allocator = "exact";
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/lenet5.train.ts.op17.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  Study study(*file);
  const auto accountant = Accountant::Create(study, workload, PlanRequest().clock, CostLine::kFlops);
  ASSERT_TRUE(accountant.ok());
  const auto prover = Prover::Create(*accountant, CostLine::kFlops, BudgetLine::kDevice);
  ASSERT_TRUE(prover.ok());
  EXPECT_FALSE(DeviceBound::Create(*accountant, *prover, FindCandidates(accountant->lowered()).list).has_value());
}

}  // namespace
}  // namespace onnx_mem
