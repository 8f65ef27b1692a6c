// onnx-mem as a library: what training and inference of a PyTorch model need, read off its ONNX file.
//
//   #include <onnx_mem/onnx_mem.h>
//   namespace mem = onnx_mem::api;
//
//   const mem::Result<mem::Model> model = mem::Model::Open("resnet50.onnx");
//   if (!model) return Fail(model.error());  // .code is "not-found"
//   mem::Question question;
//   question.batches = {64}, question.gpu = "RTX 4090";
//   const auto analysis = model->Analyze(question);
//   if (analysis) std::cout << (analysis->fits ? "fits\n" : "does not fit\n")
//                           << *analysis->report.Render();  // the screen that the command onnx-mem prints
// A question here is a command there: the same options with the same defaults, the same figures, errors and texts.
// Sizes are bytes, work is FLOPs (a multiply-add counts as 2), ratios are fractions. Names of choices ("bf16", "adamw")
// are those of the command line and of the JSON, and `onnx-mem --help` lists them. What is not known is empty.
//
// The names stand in onnx_mem::api, beside and never among those of the implementation. Nothing is thrown but by
// Result::value() and where memory runs out for an answer; nothing is printed; the same question has the same answer.
// Any number of threads may ask, also of one Model. Only the standard library and the tables beside it are included.
#ifndef ONNX_MEM_ONNX_MEM_H_
#define ONNX_MEM_ONNX_MEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#define ONNX_MEM_EXPORT __attribute__((visibility("default")))  // GCC and Clang, which build onnx-mem
namespace onnx_mem::api {

// Why there is no answer. Codes are stable, those of the command's "[not-found]":
//   of the file       not-found, unreadable, empty, truncated, damaged, not-onnx, lfs-pointer, bad-model,
//                     no-weights, opset-too-new
//   of its dimensions unbound-dim, unknown-dim, unknown-input, dim-conflict, static-batch, bad-shape, too-large
//   of the question   usage (a value that is not one of its choices), no-match (a pattern that freezes nothing),
//                     unknown-tensor, unknown-module, unknown-node, unknown-rewrite, bad-cost
//   of the card       unknown-gpu, ambiguous-gpu, no-gpu, no-driver, bad-gpu-file
//   ours              internal: a bug of onnx-mem
struct Error {
  std::string code;
  std::string message;               // one sentence
  std::vector<std::string> details;  // lines that help: "did you mean: ...", "try: ...", "why: ..."
};

// A T, or the Error that stands in its place. `*` and `->` want ok().
template <class T>
class [[nodiscard]] Result {
 public:  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : either_(std::move(value)) {}
  Result(Error error) : either_(std::move(error)) {}  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return either_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *std::get_if<Error>(&either_); }  // wants !ok()

  T& operator*() & { return *std::get_if<T>(&either_); }
  const T& operator*() const& { return *std::get_if<T>(&either_); }
  const T* operator->() const { return std::get_if<T>(&either_); }

  // Throws std::runtime_error("message [code]") where there is none.
  const T& value() const& {
    if (!ok()) throw std::runtime_error(error().message + " [" + error().code + "]");
    return **this;
  }
  T value() && { return std::as_const(*this).value(), std::move(**this); }

 private:
  std::variant<T, Error> either_;
};

// One torch.utils.checkpoint call over neighbouring modules or, without names of modules, over nodes.
struct Segment {
  std::vector<std::string> modules, nodes;
  // Framework operators whose results are kept and not computed again; with '#' one call of one, "module:op#0", and
  // behind it the outputs that are kept, "[0,2]".
  std::vector<std::string> keep;
  std::vector<std::string> skip = {};  // calls that the second run leaves out; empty: what nothing there reads
  // "overlapped", "waiting", "held", "gate": when tensors leave for host memory; "": none do. What leaves are calls
  // that are kept, named as in `keep`, and what the second run starts from; without either all that the modules save,
  // and nothing runs again.
  std::string offload = {};
  std::vector<std::string> host_calls = {};
  bool host_inputs = false;
#define ONNX_MEM_SEGMENT(member, ...) int64_t member = 0;  // of a plan that was found
#include "figures.inc"
};

using Sizes = std::map<std::string, int64_t>;                // of dimensions
using Shapes = std::map<std::string, std::vector<int64_t>>;  // of inputs

// A question about a model: how it runs and where. The members are the rows of question.inc, each with its type, name
// and default, the option that it is on the command line and what it means; docs/reference/options.md is the same as a
// page. What the file does not say has the command's default; what the command of a question does not take, as compare
// no card, is an error (usage).
//
//   std::vector<int64_t> batches;       // --batch: several: a run each; none: the file's, else 1
//   std::string optimizer = "adam";     // --optimizer
//   std::vector<Segment> segments;      // a checkpoint plan to apply; of Model::Plan: to measure beside others
//   ...
struct Question {
#define ONNX_MEM_QUESTION(type, member, initial) type member = initial;
#include "question.inc"
};
using Workload = Question;  // as it was called first

// What a report lists; figures do not depend on it. `by` is "" or one of the words of --by; `top` empty: 8.
struct Listing {
#define ONNX_MEM_LISTING(type, member, initial) type member = initial;
#include "question.inc"
};

// How Model::Plan looks for a plan. `cost_in` "" is "time" with a cost_file, else "flops"; `max_slowdown` 0.1 is at
// most a tenth more work. Limits of 0 are none; without one of time, any machine finds the same plans.
struct PlanOptions {
#define ONNX_MEM_PLANNING(type, member, initial) type member = initial;
#include "question.inc"
};

// What was found besides the answer.
struct Note {
  std::string code, severity, message;  // "bn-folded"; note, warning or error
  std::vector<std::string> details;
  int64_t count = 1;             // nodes or tensors that it is about
  std::optional<int64_t> bytes;  // at stake
};

// The answer as text. A copy costs nothing.
class ONNX_MEM_EXPORT Report {
 public:
  // "table" (a screen of 100 columns, UTF-8, no colours), "json" (schema onnx-mem/1), "csv", "md", or "quiet" (a line
  // per batch); of Plans also "pytorch", Python that applies the chosen plan, and "plan", a file for --plan. Units are
  // those of the option. What would save most, which an Analysis of one batch tells, is worked out by the first call,
  // which then takes longer than the analysis. Error: usage.
  Result<std::string> Render(std::string_view format = "table", std::string_view units = "auto") const;

  struct Content;
  Report() = default;
  explicit Report(std::shared_ptr<const Content> content);

 private:
  std::shared_ptr<const Content> content_;
};

struct Interval {
  int64_t low_bytes = 0, high_bytes = 0;
};
// Of one training step (its steady state) or one inference. The members, their units and what they mean are the rows of
// figures.inc, here and in BatchRun and Plan: peak_bytes, device_bytes, device_interval ...
struct Figures {
#define ONNX_MEM_PEAK(member, ...) int64_t member = 0;
#define ONNX_MEM_RANGE(stem, ...) Interval stem##_interval;
#define ONNX_MEM_OPEN_RANGE(stem, ...) std::optional<Interval> stem##_interval;
#include "figures.inc"
  std::string verdict;  // fits: high is within every limit; may-fit: device_bytes is; does-not-fit; "": no limit
  std::vector<std::pair<std::string, int64_t>> breakdown;   // sums to peak_bytes; categories and order of the JSON
  std::string peak_phase, peak_op, peak_node, peak_module;  // when: "backward", "convolution_backward"
  bool lower_bound = false;                                 // something could not be known: the figures are the least
};
struct BatchRun {
  int64_t batch = 1;
  std::optional<Figures> training, inference;  // as far as Question::mode asks
#define ONNX_MEM_PASS(member, ...) int64_t member = 0;
#define ONNX_MEM_PLAN_PASS(member, ...) std::optional<int64_t> member;  // with Question::segments
#include "figures.inc"
};
using Run = BatchRun;  // as it was called first
struct ModelSummary {
  std::string path, producer;
#define ONNX_MEM_MODEL(member, ...) int64_t member = 0;
#include "figures.inc"
};
struct Answer {
  std::vector<std::pair<std::string, std::string>> assumptions;  // ("optimizer", "adam")
  std::vector<Note> notes;
  Report report;
};
struct Held {
  std::string name, verdict;  // of a card, or "" of a size; the worst
  int64_t limit_bytes = 0;
};
struct Analysis : Answer {
  ModelSummary model;
  std::vector<BatchRun> runs;  // one per batch; of several cards as on the first
  bool fits = true;            // every run every card, the memory and the budget of the question
  std::vector<Held> held;      // those, in that order
};

struct Plan {
  int64_t id = 0;
  std::string method, label;                    // none, sqrt, chen, chain, dag, hand, given; "layer1", "7 blocks"
  std::vector<Segment> segments;                // what Question::segments takes
  std::map<std::string, std::string> settings;  // of the process's environment; the rows that follow are with them
#define ONNX_MEM_PLAN_PEAK(member, ...) int64_t member = 0;
#define ONNX_MEM_COST(type, member, ...) type member = 0;
#include "figures.inc"
  bool dominated = false;  // another plan is better in both; this one is what many write by hand
};
struct Plans : Answer {
  std::string status;                       // feasible, infeasible (proven), unknown
  std::vector<Plan> plans;                  // the trade-off: "none" first, the least memory last
  std::optional<size_t> chosen;             // index into plans
  int64_t minimum_bytes = 0;                // proven: no checkpointing gets below
  int64_t lower_bound_recompute_flops = 0;  // proven, for the budget
  bool optimal = false;                     // the chosen plan meets a proven bound of its class
  double gap = 0;                           // to that bound, as a fraction of the step's work
  std::optional<int64_t> largest_batch;     // with PlanOptions::max_batch; 0: none
  std::vector<Held> held;                   // the chosen plan on the budget, then on each card
};
struct Fitting : Answer {
  struct Part {
    std::string name, verdict;  // training, inference; as Figures::verdict
    int64_t device_bytes = 0;   // at `batch`
    Interval device_interval;
    bool fits = false;  // verdict is not does-not-fit
#define ONNX_MEM_BATCH(type, member, ...) type member = {};
#include "figures.inc"
  };
  struct Card {
    std::string name;  // "" for a size
    int64_t usable_bytes = 0;
    std::vector<Part> parts;  // the first one answers
  };
  struct Way {
    std::string change;              // "bf16 autocast"
    std::vector<std::string> flags;  // the same on the command line
    std::string cost;                // in words; "": none but extra_compute
    int64_t device_bytes = 0;
    double extra_compute = 0;  // of the step's FLOPs
    std::optional<int64_t> largest_batch;
  };
  ModelSummary model;
  int64_t batch = 1;
  std::string over;         // what is varied: "batch", or the dimension that --over names
  int64_t size = 1;         // of the question, along it
  bool fits = false;        // every card
  std::vector<Card> cards;  // those of Question::gpu, then gpu_memory_bytes, then budget_bytes
  std::vector<Way> ways;    // to make the batch fit the first card that is too small, cheapest first
};

struct Comparison : Answer {
  struct Layer {
    std::string name;
    int64_t base_bytes = 0, head_bytes = 0;  // at the peak
  };
  struct Side {
    ModelSummary model;
    BatchRun run;
    std::vector<Layer> layers;  // of a head: against the base, largest difference first
  };
  Side base;
  std::vector<Side> heads;
  bool within = true;  // every head, the budget and max_increase
};

// An ONNX file that is open. Weights are not needed and not kept. A copy costs nothing.
class ONNX_MEM_EXPORT Model {
 public:
  static Result<Model> Open(const std::string& path);
  static Result<Model> Parse(std::string bytes, const std::string& name);  // `name` stands for the path

  Result<Analysis> Analyze(const Question& question = {}, const Listing& listing = {}) const;

  // Of training, at one batch. The budget is budget_bytes, else gpu_memory_bytes, else what the card offers; without
  // one the knee of the curve is chosen. That nothing fits is an answer, not an error.
  Result<Plans> Plan(const Question& question = {}, const PlanOptions& options = {}, const Listing& listing = {}) const;

  // Wants a card, a memory or a budget. At most one batch: the one that is to fit.
  Result<Fitting> Fit(const Question& question, const Listing& listing = {}) const;

  // The first model is the base. One batch for all or one for each; of one model, two batches or more. Lists by
  // layer alone. Where a peak grew by more than `max_increase` (0.02), `within` is false.
  static Result<Comparison> Compare(const std::vector<Model>& models, const Question& question = {},
                                    std::optional<double> max_increase = {}, const Listing& listing = {});

  struct File;
  explicit Model(std::shared_ptr<const File> file);

 private:
  std::shared_ptr<const File> file_;
};

ONNX_MEM_EXPORT std::string Version();  // "0.1.0"

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_ONNX_MEM_H_
