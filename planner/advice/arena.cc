#include "planner/advice/arena.h"

#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/runtimes/runtime.h"

namespace onnx_mem {
namespace {

struct Strategy {
  std::string_view allocator;  // a row of analyzer/allocators
  std::string_view name;       // a value of arena_extend_strategy
};
constexpr auto kStrategies =
    std::to_array<Strategy>({{"ort", "kNextPowerOfTwo"}, {"ort-as-requested", "kSameAsRequested"}});

struct Weighed {
  int64_t device_bytes = 0;
  std::optional<int64_t> batch;  // nullopt: the file's is fixed
};

absl::StatusOr<Weighed> Weigh(Study& study, Workload workload, const Strategy& strategy, int64_t usable_bytes) {
  workload.allocator = std::string(strategy.allocator);
  Weighed weighed;
  ASSIGN_OR_RETURN(const Shared<RunFigures> figures, study.Figures(workload));
  weighed.device_bytes = figures->device_bytes;
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(study, workload, usable_bytes);
  if (largest.ok()) weighed.batch = largest->batch;
  return weighed;
}

// "batch 212 in place of 160", "1.20 GiB less"; "" where there is no difference.
std::string Gain(const Weighed& better, const Weighed& other, ByteUnit units) {
  if (better.batch > other.batch) return absl::StrFormat("batch %d fits in place of %d", *better.batch, *other.batch);
  if (better.batch < other.batch || better.device_bytes >= other.device_bytes) return "";
  return absl::StrFormat("%s less at this batch", FormatBytesIn(other.device_bytes - better.device_bytes, units));
}

}  // namespace

absl::StatusOr<std::optional<Diagnostic>> BetterArena(Study& study, const Workload& workload, int64_t usable_bytes,
                                                      ByteUnit units) {
  if (RuntimeOf(workload).eager || workload.device == Device::kCpu) return std::optional<Diagnostic>();
  std::array<Weighed, kStrategies.size()> weighed;
  for (size_t i = 0; i < kStrategies.size(); ++i) {
    ASSIGN_OR_RETURN(weighed[i], Weigh(study, workload, kStrategies[i], usable_bytes));
  }
  const bool second = !Gain(weighed[1], weighed[0], units).empty();
  const Strategy& better = kStrategies[second];
  const std::string gain = Gain(weighed[second], weighed[!second], units);
  Diagnostic note{.code = Code::kArenaStrategy, .severity = Severity::kNote, .count = 1};
  if (gain.empty()) {
    note.message = "arena_extend_strategy makes no difference here";
    return std::optional<Diagnostic>(std::move(note));
  }
  note.message = absl::StrFormat("arena_extend_strategy %s is the better one: %s", better.name, gain);
  note.details = {
      absl::StrFormat("try: providers=[(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"%s\"})]", better.name),
      absl::StrFormat("figures: --allocator %s", better.allocator)};
  return std::optional<Diagnostic>(std::move(note));
}

}  // namespace onnx_mem
