#include "cli/answers/clock.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "analyzer/devices/csv_line.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"
#include "analyzer/study/rank_traffic.h"

namespace onnx_mem {
namespace {

constexpr double kLongestMicroseconds = 1e12;  // eleven days

absl::Status BadCost(const std::string& path, int64_t line, std::string_view what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadCost,
                     absl::StrFormat("'%s' line %d: %s", path, line, what),
                     {"expected: csv with the header node,phase,microseconds or module,phase,microseconds",
                      "phases: forward, loss, backward, optimizer"});
}

std::optional<Phase> PhaseNamed(std::string_view name) {
  for (Phase phase : {Phase::kForward, Phase::kLoss, Phase::kBackward, Phase::kOptimizer}) {
    if (NameOf(phase) == name) return phase;
  }
  return std::nullopt;
}

std::vector<std::string> Fields(absl::string_view line) {
  std::vector<std::string> fields = SplitCsvLine({line.data(), line.size()});
  for (std::string& field : fields) absl::StripAsciiWhitespace(&field);
  return fields;
}

absl::StatusOr<MeasuredTime> ParseRow(const std::vector<std::string>& fields, bool modules, const std::string& path,
                                      int64_t line) {
  if (fields.size() != 3) return BadCost(path, line, "not three fields");
  MeasuredTime time;
  time.place = fields[0];
  time.is_module = modules;
  const std::optional<Phase> phase = PhaseNamed(fields[1]);
  if (!phase) return BadCost(path, line, absl::StrFormat("'%s' is not a phase", fields[1]));
  time.phase = *phase;
  double microseconds = 0;
  const bool number = absl::SimpleAtod(fields[2], &microseconds) && microseconds >= 0;
  if (!number || microseconds > kLongestMicroseconds) {
    return BadCost(path, line, absl::StrFormat("'%s' is not a number of microseconds", fields[2]));
  }
  time.nanoseconds = std::llround(microseconds * 1000);
  return time;
}

// A card that the driver knows and gpus.csv does not still has its memory.
absl::Status NoRates(const LocalGpu& gpu) {
  return ErrorStatus(absl::StatusCode::kNotFound, Code::kNoRates,
                     absl::StrFormat("no rates are known of '%s' (list: onnx-mem gpus)", gpu.name));
}

}  // namespace

absl::StatusOr<std::vector<MeasuredTime>> ParseCosts(std::string_view text, const std::string& path) {
  std::vector<MeasuredTime> times;
  std::optional<bool> modules;  // known once the header was read
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++line_number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::vector<std::string> fields = Fields(line);
    if (modules) {
      ASSIGN_OR_RETURN(MeasuredTime time, ParseRow(fields, *modules, path, line_number));
      times.push_back(std::move(time));
      continue;
    }
    const bool known = fields.size() == 3 && (fields[0] == "node" || fields[0] == "module") && fields[1] == "phase" &&
                       fields[2] == "microseconds";
    if (!known) return BadCost(path, line_number, "not the header of a file of times");
    modules = fields[0] == "module";
  }
  if (!modules) return BadCost(path, 1, "the file is empty");
  return times;
}

absl::StatusOr<Clock> ClockOf(const Options& options, const LocalGpu* local) {
  Clock clock;
  clock.card = DefaultRoofline();
  clock.micro_steps = options.workload.run.accumulate;
  if (!options.gpu.empty()) {
    const absl::StatusOr<Gpu> gpu = FindGpu(local != nullptr ? local->name : options.gpu);
    if (!gpu.ok() && local == nullptr) return gpu.status();
    absl::StatusOr<RooflineCard> card = gpu.ok() ? RooflineOf(*gpu) : NoRates(*local);
    clock.named = true;
    if (card.ok()) {
      clock.card = *std::move(card);
    } else {
      clock.unknown = std::string(card.status().message());
    }
  }
  if (options.cost_file.empty()) return clock;
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(options.cost_file));
  ASSIGN_OR_RETURN(clock.measured, ParseCosts(text, options.cost_file));
  return clock;
}

absl::Status CheckHostLink(const Clock& clock, bool offload, const std::optional<std::vector<Segment>>& given) {
  if (given) {
    offload = offload || std::any_of(given->begin(), given->end(),
                                     [](const Segment& segment) { return segment.offload != Offload::kNo; });
  }
  if (!offload || clock.card.link_bandwidth > 0) return absl::OkStatus();
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kSharedMemory,
      absl::StrFormat("the memory of %s is the host's own: what moves to the host frees nothing", clock.card.name),
      {"way out: without --offload and --host-memory, modules can run again"});
}

std::vector<Diagnostic> UnmatchedTimes(const Clock& clock, const MemoryProgram& program) {
  if (clock.measured.empty() || !clock.unknown.empty()) return {};
  std::vector<size_t> unmatched;
  StepTimes(program, clock.card, clock.measured, &unmatched);
  if (unmatched.empty()) return {};
  const MeasuredTime& first = clock.measured[unmatched.front()];
  Diagnostic warning;
  warning.code = Code::kNoMatch;
  warning.severity = Severity::kWarning;
  warning.count = static_cast<int64_t>(unmatched.size());
  warning.message = absl::StrFormat("--cost: nothing of this run answers to %s '%s' in %s",
                                    first.is_module ? "module" : "node", first.place, NameOf(first.phase));
  warning.details = {"nodes and modules are those that --by layer -f json lists"};
  return {warning};
}

absl::Status AddTraffic(Study& study, Workload workload, const Clock& clock, RunSummary& run) {
  if (!IsSpread(workload.layout)) return absl::OkStatus();
  const absl::StatusOr<Gpu> gpu = FindGpu(clock.card.name);
  if (!gpu.ok()) return absl::OkStatus();
  workload.mode = Mode::kTraining;
  ASSIGN_OR_RETURN(run.traffic, TrafficOn(study, workload, *gpu));
  return absl::OkStatus();
}

}  // namespace onnx_mem
