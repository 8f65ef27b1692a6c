// The orders of torch 2.15 (pipelining/schedules.py: what its schedules give for these ranks and micro-batches).
#include "analyzer/parallel/schedules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {
namespace {

std::string TextOf(const StageAction& action) {
  const auto with = [&](const char* name) { return absl::StrCat(action.stage, name, action.micro_batch); };
  switch (action.kind) {
    case StageAction::Kind::kNothing: return "";
    case StageAction::Kind::kForward: return with("F");
    case StageAction::Kind::kBackward: return with("B");
    case StageAction::Kind::kBackwardInput: return with("I");
    case StageAction::Kind::kBackwardWeight: return with("W");
    case StageAction::Kind::kReceiveInput: return with("RECV_F");
    case StageAction::Kind::kReceiveGradient: return with("RECV_B");
    case StageAction::Kind::kOutputSent: return with("WAIT_SEND_F");
    case StageAction::Kind::kInputGradientSent: return with("WAIT_SEND_B");
  }
  return "?";
}

std::string OrderOf(PipelineSchedule schedule, int64_t ranks, int64_t stages_per_rank, int64_t micro_batches,
                    int64_t rank, bool computed_alone = false) {
  PipelineLayout layout;
  layout.ranks = ranks;
  layout.stages_per_rank = stages_per_rank;
  layout.micro_batches = micro_batches;
  layout.schedule = schedule;
  const absl::StatusOr<std::vector<StageAction>> actions = ActionsOf(layout, rank);
  if (!actions.ok()) return std::string(actions.status().message());
  std::vector<std::string> texts;
  for (const StageAction& action : *actions) {
    const std::string text = TextOf(action);
    if (!text.empty() && !(computed_alone && text.find('_') != std::string::npos)) texts.push_back(text);
  }
  return absl::StrJoin(texts, " ");
}

TEST(Schedules, GpipeRunsAllForwardsFirst) {
  EXPECT_EQ(OrderOf(PipelineSchedule::kGpipe, 2, 1, 3, 0, true), "0F0 0F1 0F2 0B0 0B1 0B2");
}

TEST(Schedules, OneForwardOneBackward) {
  EXPECT_EQ(OrderOf(PipelineSchedule::k1F1B, 3, 1, 4, 0, true), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(OrderOf(PipelineSchedule::k1F1B, 3, 1, 4, 2, true), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
  EXPECT_NE(OrderOf(PipelineSchedule::k1F1B, 4, 1, 2, 0).find("at least as many micro-batches"), std::string::npos);
}

TEST(Schedules, InterleavedWithWhatIsReceivedAndWaitedFor) {
  EXPECT_EQ(
      OrderOf(PipelineSchedule::kInterleaved1F1B, 2, 2, 4, 0),
      "0F0 2RECV_F0 0F1 2RECV_F1 2F0 2F1 2RECV_B0 0F2 2B0 2WAIT_SEND_F0 2RECV_B1 0F3 2RECV_F2 2B1 2WAIT_SEND_F1 "
      "0RECV_B0 2F2 2RECV_F3 0B0 0WAIT_SEND_F0 0RECV_B1 2F3 0B1 0WAIT_SEND_F1 2RECV_B2 2B2 2WAIT_SEND_F2 2RECV_B3 "
      "2B3 2WAIT_SEND_F3 0RECV_B2 0B2 0WAIT_SEND_F2 0RECV_B3 0B3 0WAIT_SEND_F3 2WAIT_SEND_B0 2WAIT_SEND_B1 "
      "2WAIT_SEND_B2 2WAIT_SEND_B3");
  EXPECT_EQ(OrderOf(PipelineSchedule::kInterleaved1F1B, 2, 2, 4, 1),
            "1RECV_F0 1F0 1RECV_F1 1F1 3RECV_F0 3F0 3RECV_F1 3B0 1RECV_F2 3F1 1RECV_B0 3B1 1RECV_F3 1F2 1RECV_B1 1B0 "
            "1WAIT_SEND_F0 3RECV_F2 1F3 1B1 1WAIT_SEND_F1 3RECV_F3 3F2 3B2 1RECV_B2 3F3 3B3 1RECV_B3 1B2 1WAIT_SEND_F2 "
            "1B3 1WAIT_SEND_F3 3WAIT_SEND_B0 3WAIT_SEND_B1 1WAIT_SEND_B0 1WAIT_SEND_B1 3WAIT_SEND_B2 3WAIT_SEND_B3 "
            "1WAIT_SEND_B2 1WAIT_SEND_B3");
}

TEST(Schedules, ZeroBubble) {
  EXPECT_EQ(OrderOf(PipelineSchedule::kInterleavedZeroBubble, 2, 2, 4, 1),
            "1RECV_F0 1F0 1RECV_F1 1F1 3RECV_F0 3F0 3RECV_F1 3I0 1RECV_B0 3F1 3I1 1RECV_F2 3W0 1RECV_B1 1F2 1I0 "
            "1WAIT_SEND_F0 1RECV_F3 3W1 1F3 1I1 1WAIT_SEND_F1 3RECV_F2 1W0 3F2 3I2 3RECV_F3 1W1 1RECV_B2 3F3 3I3 "
            "1RECV_B3 3W2 1I2 1WAIT_SEND_F2 3W3 1I3 1WAIT_SEND_F3 1W2 1W3 3WAIT_SEND_B0 3WAIT_SEND_B1 1WAIT_SEND_B0 "
            "1WAIT_SEND_B1 3WAIT_SEND_B2 3WAIT_SEND_B3 1WAIT_SEND_B2 1WAIT_SEND_B3");
}

}  // namespace
}  // namespace onnx_mem
