// onnx-mem as a library: what training and inference of a PyTorch model need, told from its ONNX file.
//
//   #include <onnx_mem/onnx_mem.h>
//   namespace mem = onnx_mem::api;
//
//   const mem::Result<mem::Model> model = mem::Model::Open("resnet50.onnx");
//   if (!model) return Fail(model.error());  // .code is "not-found"
//   mem::Workload workload;
//   workload.batches = {64}, workload.gpu = "RTX 4090";
//   const auto analysis = model->Analyze(workload);
//   if (analysis) std::cout << (analysis->fits ? "fits\n" : "does not fit\n")
//                           << *analysis->report.Render();  // the screen that the command onnx-mem prints
// A question here is a command there: the same options with the same defaults, the same figures, errors and texts.
// Sizes are bytes, work is FLOPs (a multiply-add counts as 2), ratios are fractions. Names of choices ("bf16", "adamw")
// are those of the command line and of the JSON, and `onnx-mem --help` lists them. What is not known is empty.
//
// The names stand in onnx_mem::api, beside and never among those of the implementation. Nothing is thrown but by
// Result::value() and where memory runs out for an answer; nothing is printed; the same question has the same answer.
// Any number of threads may ask, also of one Model. Only the standard library and figures.inc beside it are included.
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
  std::vector<std::string> keep;  // framework operators whose results are kept and not computed again
  // Told by plans: what it saves at the end of the forward, and the work of its second run.
  int64_t saves_bytes = 0, recompute_flops = 0;
};

// What is asked about a model: how it runs and where. What the file does not say has the command's default; what the
// command of a question does not take, as compare no card, is an error (usage).
struct Workload {
  std::vector<int64_t> batches;         // dim 0 of the inputs; several: a run each; none: the file's, else 1
  std::map<std::string, int64_t> dims;  // symbolic dimensions
  std::map<std::string, std::vector<int64_t>> inputs;  // whole shapes of inputs
  std::string mode = "both";                           // both, train, infer
  std::string dtype = "file", amp = "none";      // file, fp32, fp16, bf16: as if converted; none, fp16, bf16: autocast
  std::string optimizer = "adam";                // none, sgd, adamw ..., or a number: bytes of state per parameter
  std::string optimizer_impl = "foreach";        // foreach, for-loop, fused
  bool weight_decay = false;                     // the optimizer adds it to the gradients
  int64_t accumulate = 1, sessions = 1;          // batches per optimizer step; onnxruntime's sessions in one process
  std::string loss = "auto";                     // auto, sum, mean, cross-entropy, mse, none
  std::vector<std::string> freeze, lora;         // regexes over parameters that are not trained; adapters: "8:q_proj"
  std::string base_bits;                         // with lora, of the frozen linear layers: "4", "4-double", "8"
  std::vector<std::string> requires_grad, hold;  // inputs that get a gradient; tensors that a Python variable keeps
  std::vector<std::string> checkpointed;         // regexes over modules that the code checkpoints already
  std::vector<Segment> segments;                 // a checkpoint plan to apply; of Model::Plan: to measure beside others
  std::string inplace = "auto";                  // auto, norms, all, none, or a regex
  std::string attention = "auto";                // auto, eager, math, flash, efficient
  std::string bn = "auto", tied = "auto";        // auto, as-is, unfold; auto, yes, no
  std::string dropout = "auto";                  // auto, file, a probability, or probability:regex
  std::vector<std::string> no_rewrite;           // operators to take as the file spells them
  std::string runtime = "auto", device = "gpu";  // --for: auto, pytorch, onnxruntime; of its sessions: gpu, cpu
  std::string allocator = "pytorch";             // pytorch, pytorch-expandable, ort, exact
  std::string torch;                             // the version of PyTorch that runs it, "2.4"; "": the exporter's
  bool cudnn_benchmark = false;                  // torch.backends.cudnn.benchmark is on
  std::string gpu;                               // a card of `onnx-mem gpus`, or local; several with commas
  std::optional<int64_t> gpu_memory_bytes, budget_bytes;  // of a card without a name; of what is needed on any
  std::string cost_file;                                  // csv of measured times, in place of estimates
};

// What a report lists; figures do not depend on it.
struct Listing {
  std::string by;              // "", layer, op, tensor, shape, category, step
  std::optional<int64_t> top;  // rows of a list, 0 for all; empty: 8
  bool verbose = false;
};

struct PlanOptions {
  std::string method = "auto";                               // auto, none, sqrt, chen, chain, dag
  std::string granularity = "module", budget_on = "device";  // module, op; device, live
  std::string cost_in;                                       // flops, time; "": time with a cost_file, else flops
  std::optional<double> max_slowdown;                        // 0.1: at most a tenth more work
  bool max_batch = false, offload = false;   // plan the largest batch that fits; saved tensors may go to the host
  std::optional<int64_t> host_memory_bytes;  // at most this much there
  // Of processor time, and of enactments by each method; 0: none. Without the first, any machine finds the same plans.
  double time_limit_s = 0;
  int64_t iterations = 0;
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
// figures.inc, here and in Run and Plan: peak_bytes, device_bytes, device_interval ...
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
struct Run {
  int64_t batch = 1;
  std::optional<Figures> training, inference;  // as far as Workload::mode asks
#define ONNX_MEM_PASS(member, ...) int64_t member = 0;
#define ONNX_MEM_PLAN_PASS(member, ...) std::optional<int64_t> member;  // with Workload::segments
#include "figures.inc"
};
struct ModelSummary {
  std::string path, producer;
  int64_t nodes = 0, parameters = 0, parameter_bytes = 0, buffer_bytes = 0;
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
  std::vector<Run> runs;   // one per batch; of several cards as on the first
  bool fits = true;        // every run every card, the memory and the budget that were asked about
  std::vector<Held> held;  // those, in that order
};

struct Plan {
  int64_t id = 0;
  std::string method, label;                    // none, sqrt, chen, chain, dag, habit, given; "layer1", "7 blocks"
  std::vector<Segment> segments;                // what Workload::segments takes
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
    // High fits, expected fits, low does not. 0: not one sample; empty: the file's batch is fixed, none is impossible.
    std::optional<int64_t> safe_batch, largest_batch, impossible_from;
    bool at_least = false;  // nothing larger was looked at
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
  bool fits = false;        // every card
  std::vector<Card> cards;  // those of Workload::gpu, then gpu_memory_bytes, then budget_bytes
  std::vector<Way> ways;    // to make the batch fit the first card that is too small, cheapest first
};

struct Comparison : Answer {
  struct Layer {
    std::string name;
    int64_t base_bytes = 0, head_bytes = 0;  // at the peak
  };
  struct Side {
    ModelSummary model;
    Run run;
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

  Result<Analysis> Analyze(const Workload& workload = {}, const Listing& listing = {}) const;

  // Of training, at one batch. The budget is budget_bytes, else gpu_memory_bytes, else what the card offers; without
  // one the knee of the curve is chosen. That nothing fits is an answer, not an error.
  Result<Plans> Plan(const Workload& workload = {}, const PlanOptions& options = {}, const Listing& listing = {}) const;

  // Wants a card, a memory or a budget. At most one batch: the one that is to fit.
  Result<Fitting> Fit(const Workload& workload, const Listing& listing = {}) const;

  // The first model is the base. One batch for all or one for each; of one model, two batches or more. Lists by
  // layer alone. Where a peak grew by more than `max_increase` (0.02), `within` is false.
  static Result<Comparison> Compare(const std::vector<Model>& models, const Workload& workload = {},
                                    std::optional<double> max_increase = {}, const Listing& listing = {});

  struct File;
  explicit Model(std::shared_ptr<const File> file);

 private:
  std::shared_ptr<const File> file_;
};

ONNX_MEM_EXPORT std::string Version();  // "0.1.0"

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_ONNX_MEM_H_
