#include "planner/code/pipeline_setup.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "planner/code/python_text.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kPipelineUsage = R"py(#
#     import plan
#     schedule, optimizer = plan.set_up(model, (x,), loss_fn, device, torch.optim.Adam, lr=1e-3)    # once, on each rank
#
)py";

constexpr std::string_view kPipelineImport = R"py(#
#     schedule, optimizer = set_up(model, (x,), loss_fn, device, torch.optim.Adam, lr=1e-3)    # once, on each rank
import onnx_mem

)py";

constexpr const char* kNoOutputs = "    # Its step is called with return_outputs=False: the figures are of that.\n";

// Those that have plans.
std::string ScheduleClass(PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::kInterleaved1F1B) return "ScheduleInterleaved1F1B";
  return schedule == PipelineSchedule::kGpipe ? "ScheduleGPipe" : "Schedule1F1B";
}

// What a rank does with its stages, the schedule and the optimizer.
std::string OneStage(const std::string& schedule, const PipelineLayout& pipeline) {
  return absl::StrCat(
      "    apply_plan(pipe.get_stage_module(dist.get_rank()), dist.get_rank())\n"
      "    stage = pipe.build_stage(dist.get_rank(), device)\n",
      pipeline.return_outputs ? "" : kNoOutputs, "    schedule = ", schedule,
      "(stage, n_microbatches=", MicroBatchesOf(pipeline),
      ", loss_fn=loss_fn)\n"
      "    return schedule, optimizer_class(stage.submod.parameters(), **settings)\n");
}

std::string SeveralStages(const std::string& schedule, const PipelineLayout& pipeline) {
  return absl::StrCat(
      "    own = range(dist.get_rank(), len(STAGES) + 1, ", pipeline.ranks,
      ")\n"
      "    for number in own:\n"
      "        apply_plan(pipe.get_stage_module(number), number)\n"
      "    stages = [pipe.build_stage(number, device) for number in own]\n",
      pipeline.return_outputs ? "" : kNoOutputs, "    schedule = ", schedule,
      "(stages, n_microbatches=", MicroBatchesOf(pipeline),
      ", loss_fn=loss_fn)\n"
      "    return schedule, optimizer_class([p for stage in stages for p in stage.submod.parameters()], **settings)\n");
}

}  // namespace

absl::Status CheckPipelineSetup(const std::optional<SpreadPlan>& spread, bool statistics) {
  if (!statistics || !spread || !IsPipeline(spread->layout)) return absl::OkStatus();
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kUsage,
      "no set-up is printed for this --pipeline: the stages that torch traces have operators in place of "
      "BatchNorms, so that running statistics would move twice",
      {"try: ... --emit json"});
}

std::string_view PipelineUsage(bool imports) { return imports ? kPipelineImport : kPipelineUsage; }

std::string ApplyToStage(bool imports) {
  return absl::StrCat(
      "def apply_plan(stage, number):\n"
      "    \"\"\"Wraps the plan's modules of the stage of that number in place and returns it.\"\"\"\n"
      "    own = [entry for entry in PLAN if entry[\"stage\"] == number]\n"
      "    return ",
      imports ? "onnx_mem.checkpoint(stage, {\"segments\": own, \"export_wrapper\": EXPORT_WRAPPER, "
                "\"settings\": SETTINGS})\n"
              : "apply(stage, own, EXPORT_WRAPPER, SETTINGS)\n\n\n");
}

std::string PipelineSetup(const SpreadPlan& spread) {
  const PipelineLayout& pipeline = spread.layout.pipeline;
  const std::string schedule = ScheduleClass(pipeline.schedule);
  return absl::StrCat(
      "STAGES = ", QuotedList(spread.begins), "  # where a new one begins\n\n\n",
      "def set_up(model, micro_batch, loss_fn, device, optimizer_class, **settings):\n"
      "    \"\"\"This rank's schedule and optimizer. `micro_batch`: the model's arguments for one micro-batch. Before "
      "it:\n    init_process_group; the model may be on the host.\"\"\"\n"
      "    import torch.distributed as dist\n"
      "    from torch.distributed.pipelining import ",
      schedule,
      ", SplitPoint, pipeline\n"
      "    known = dict(model.named_modules())\n"
      "    begins = {name if name in known else name.removeprefix(EXPORT_WRAPPER): SplitPoint.BEGINNING for name in "
      "STAGES}\n"
      "    pipe = pipeline(model, mb_args=micro_batch, split_spec=begins)\n",
      pipeline.stages_per_rank > 1 ? SeveralStages(schedule, pipeline) : OneStage(schedule, pipeline));
}

}  // namespace onnx_mem
