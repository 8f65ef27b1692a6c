// Command line -> Options: plain values with every default filled in and checked against each other.
// The options themselves are rows of options/option_table.cc; CLI11 is known to options.cc alone.
#ifndef ONNX_MEM_CLI_OPTIONS_OPTIONS_H_
#define ONNX_MEM_CLI_OPTIONS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/study/axis.h"
#include "cli/host/terminal.h"
#include "planner/advice/fewest_ranks.h"
#include "planner/measure/plan.h"
#include "report/parts/table.h"

namespace onnx_mem {

enum class Runtime { kByFile, kPyTorch, kOnnxruntime };

// A file to write: the name of a row of parts/formats.cc, and where to.
struct Export {
  std::string format;
  std::string path;
  friend bool operator==(const Export&, const Export&) = default;
};

struct Options {
  std::string command = "analyze";
  std::vector<std::string> operands;   // the model, or whatever the command takes
  std::vector<std::string> arguments;  // the command line as it was, for texts that propose another

  Workload workload;        // bindings.batch is unset: `batches` has the batches
  bool mode_given = false;  // workload.mode and .allocator are the user's choice
  bool allocator_given = false;
  bool device_given = false;
  Runtime runtime = Runtime::kByFile;
  std::vector<int64_t> batches;              // empty: the file's own, else 1
  std::vector<int64_t> more_ranks;           // --fsdp 2,4,8: those behind the first
  std::optional<RankRange> ranks_among;      // --fsdp 2..64
  RankAxis ranks_axis = RankAxis::kData;     // whose numbers those are
  std::string tensor_plan;                   // the file of --tp T:FILE
  int64_t global_batch = 0;                  // --global-batch: of all data-parallel ranks; 0: not given
  std::string plan_file;                     // --plan: segments to apply
  std::optional<std::vector<Segment>> plan;  // what it says, once it is read

  // plan
  std::string instance_file;  // --instance: a step graph in place of a model
  // What options say of it: not its budget, its clock (which takes a table of cards to read) or a plan to choose.
  PlanRequest plan_request = {.clock = {}, .granularity = Granularity::kAuto};
  std::optional<double> time_limit_s;  // 0: none; unset: what is planned has one of its own
  bool cost_line_given = false;
  bool max_batch = false;  // --max-batch: the largest batch within the budget
  std::string emit;        // --emit: "pytorch" or "json"; empty: the report
  bool self_contained = false;

  std::string gpu;  // the first one of
  std::vector<std::string> gpus;
  std::optional<int64_t> gpu_memory_bytes;
  std::string cost_file;                       // --cost: measured times
  std::string over = std::string(kBatchAxis);  // --over: of fit
  std::optional<int64_t> budget_bytes;
  std::optional<double> budget_percent;   // --budget 50%, in place of bytes: of what is taken now
  absl::Status budget_status;             // an error where the text is no size: "4"
  std::optional<int64_t> measured_bytes;  // compare: torch.cuda.max_memory_allocated() of the run that is predicted
  bool measured_row = false;              // compare: print it as a row to send
  bool like_base = false;                 // compare: what the base's report assumes holds for all
  std::optional<double> max_increase_percent;  // compare: more than this is a regression

  std::optional<int64_t> top;  // rows of a list, 0: all; unset: kDefaultTop
  By by = By::kNone;
  std::string format = "table";
  std::vector<Export> exports;
  ByteUnit units = ByteUnit::kAuto;
  ColorChoice color = ColorChoice::kAuto;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;

  // Texts that are requested instead of work.
  bool short_help = false;
  bool long_help = false;
  bool version = false;
  bool exit_codes_help = false;
};

// `arguments` without the program's name. `format` is set even where an error is returned, so that the error can be
// reported in it. Errors: InvalidArgument with code usage (or a more special one), each with what would help.
struct ParsedOptions {
  Options options;
  absl::Status status;
};
ParsedOptions ParseOptions(const std::vector<std::string>& arguments);

// With --for onnxruntime, or an option that only its sessions know: inference in them, where nothing else was requested
// for.
void SettleRuntime(Options& options);
void RunInSessions(Options& options);

// OK iff the options do not contradict each other.
absl::Status CheckTogether(const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_OPTIONS_H_
