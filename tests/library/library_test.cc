// The public API: its figures are those of the command's JSON, its texts the command's, its errors carry codes.
#include <gtest/gtest.h>
#include <onnx_mem/onnx_mem.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

namespace mem = onnx_mem::api;
using Json = nlohmann::json;

std::string PathOf(const std::string& model) { return ONNX_MEM_SOURCE_DIR "/testdata/models/" + model + ".onnx"; }

const std::string kLenet = PathOf("lenet5.train.ts.op17");

// Standard output of the command, in a locale that has every glyph.
std::string Reporting(const std::string& arguments) {
  const std::string command =
      "COLUMNS= CLICOLOR_FORCE= FORCE_COLOR= LC_ALL=C.UTF-8 " ONNX_MEM_PROGRAM " " + arguments + " 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char block[4096];
  for (size_t read = 0; (read = std::fread(block, 1, sizeof block, pipe)) > 0;) text.append(block, read);
  pclose(pipe);
  return text;
}

Json JsonOf(const std::string& arguments) { return Json::parse(Reporting(arguments + " --format json")); }

mem::Model ModelAt(const std::string& path) { return mem::Model::Open(path).value(); }

Json Interval(const mem::Interval& interval) { return {interval.low_bytes, interval.high_bytes}; }

void ExpectFigures(const mem::Figures& figures, const Json& json) {
  EXPECT_EQ(figures.peak_bytes, json["peak_bytes"]);
  EXPECT_EQ(figures.allocated_peak_bytes, json["allocated_peak_bytes"]);
  EXPECT_EQ(figures.reserved_peak_bytes, json["reserved_peak_bytes"]);
  EXPECT_EQ(figures.device_bytes, json["device_bytes"]);
  EXPECT_EQ(Interval(figures.device_interval), json["device_interval_bytes"]);
  EXPECT_EQ(figures.peak_interval ? Interval(*figures.peak_interval) : Json(), json["peak_interval_bytes"]);
  EXPECT_EQ(figures.lower_bound, json["lower_bound"]);
  EXPECT_EQ(figures.peak_phase, json["peak"]["phase"].get<std::string>());
  EXPECT_EQ(figures.peak_op, json["peak"]["op"].get<std::string>());
  EXPECT_EQ(figures.peak_module, json["peak"]["module"].get<std::string>());
  int64_t sum = 0;
  ASSERT_EQ(figures.breakdown.size(), json["breakdown"].size());
  for (const auto& [name, bytes] : figures.breakdown) {
    EXPECT_EQ(bytes, json["breakdown"][name]) << name;
    sum += bytes;
  }
  EXPECT_EQ(sum, figures.peak_bytes);
}

void ExpectRun(const mem::BatchRun& run, const Json& json) {
  EXPECT_EQ(run.batch, json["batch"]);
  ASSERT_EQ(run.training.has_value(), !json["training"].is_null());
  ASSERT_EQ(run.inference.has_value(), !json["inference"].is_null());
  if (run.training) {
    ExpectFigures(*run.training, json["training"]);
    EXPECT_EQ(run.training->first_step_peak_bytes, json["training"]["first_step_peak_bytes"]);
    EXPECT_EQ(run.end_of_forward_bytes, json["training"]["end_of_forward_bytes"]);
    EXPECT_EQ(run.saved_activation_bytes, json["training"]["saved_activation_bytes"]);
  }
  if (run.inference) ExpectFigures(*run.inference, json["inference"]);
  EXPECT_EQ(run.forward_flops, json["flops"]["forward"]);
  EXPECT_EQ(run.backward_flops, json["flops"]["backward"]);
}

struct Requested {
  std::string model;
  mem::Question workload;
  std::string arguments;
};

std::vector<Requested> Questions() {
  mem::Question plain, sweep, detailed;
  sweep.batches = {1, 8};
  sweep.gpu = "T4";
  sweep.budget_bytes = 600'000'000;
  detailed.batches = {4};
  detailed.mode = "train";
  detailed.amp = "bf16";
  detailed.optimizer = "sgd";
  detailed.loss = "sum";
  detailed.freeze = {"layer1"};
  detailed.segments = {{{"layer2", "layer3"}, {}, {}}};
  detailed.allocator = "exact";
  mem::Question session, adapters;
  session.batches = {2};
  session.runtime = "onnxruntime";
  session.device = "cpu";
  session.sessions = 3;
  adapters.batches = {2};
  adapters.dims = {{"seq", 64}};
  adapters.lora = {"8:attn"};
  return {{"resnet18.eval.ts.op17", session, "-b 2 --for onnxruntime --device cpu --sessions 3"},
          {"gpt2_sdpa.train.ts.op17", adapters, "-b 2 -d seq=64 --lora 8:attn"},
          {"lenet5.train.ts.op17", plain, ""},
          {"mobilenet_v2.train.ts.op17", sweep, "-b 1,8 --gpu T4 --budget 600000000B"},
          {"resnet18.train.ts.op17", detailed,
           "-b 4 -m train --amp bf16 --optimizer sgd --loss sum --freeze layer1 --segment layer2,layer3 "
           "--allocator exact"}};
}

TEST(Library, FiguresAreThoseOfTheCommand) {
  for (const Requested& requested : Questions()) {
    SCOPED_TRACE(requested.model);
    const std::string path = PathOf(requested.model);
    const auto analysis = ModelAt(path).Analyze(requested.workload);
    ASSERT_TRUE(analysis) << analysis.error().message;
    const Json json = JsonOf(path + " " + requested.arguments);
    EXPECT_EQ(analysis->model.parameters, json["model"]["parameters"]);
    EXPECT_EQ(analysis->model.producer, json["model"]["producer"].get<std::string>());
    ASSERT_EQ(analysis->runs.size(), json["runs"].size());
    for (size_t i = 0; i < analysis->runs.size(); ++i) ExpectRun(analysis->runs[i], json["runs"][i]);
    for (const auto& [name, value] : analysis->assumptions)
      EXPECT_EQ(value, json["assumptions"][name].get<std::string>()) << name;
    ASSERT_EQ(analysis->notes.size(), json["diagnostics"].size());
    EXPECT_EQ(analysis->fits, json.value("fits", true));
  }
}

TEST(Library, TextsAreThoseOfTheCommand) {
  mem::Question workload;
  workload.batches = {4};
  mem::Listing layers;
  layers.by = "layer";
  layers.top = 3;
  const mem::Model model = ModelAt(kLenet);
  const mem::Analysis analysis = model.Analyze(workload).value();
  const mem::Analysis listed = model.Analyze(workload, layers).value();
  for (const std::string format : {"table", "json", "csv", "md"}) {
    EXPECT_EQ(analysis.report.Render(format).value(), Reporting(kLenet + " -b 4 -f " + format)) << format;
    EXPECT_EQ(listed.report.Render(format).value(), Reporting(kLenet + " -b 4 --by layer -n 3 -f " + format)) << format;
  }
  EXPECT_EQ(analysis.report.Render("quiet").value(), Reporting(kLenet + " -b 4 -q"));
  EXPECT_EQ(analysis.report.Render("table", "KiB").value(), Reporting(kLenet + " -b 4 --units KiB"));
}

TEST(Library, AnAnalysisMayApplyAPlan) {
  mem::Question workload;
  workload.batches = {16};
  workload.budget_bytes = 1'000'000'000;
  mem::PlanOptions options;
  options.time_limit_s = 0;
  options.iterations = 30;
  const std::string path = PathOf("resnet18.train.ts.op17");
  const mem::Model model = ModelAt(path);
  const mem::Plans plans = model.Plan(workload, options).value();
  const std::string arguments = "plan " + path + " -b 16 --budget 1000000000B --time-limit 0 --iterations 30";
  const Json json = JsonOf(arguments);
  EXPECT_EQ(plans.status, json["status"].get<std::string>());
  EXPECT_EQ(plans.minimum_bytes, json["minimum_bytes"]);
  ASSERT_EQ(plans.plans.size(), json["plans"].size());
  for (size_t i = 0; i < plans.plans.size(); ++i) {
    EXPECT_EQ(plans.plans[i].peak_bytes, json["plans"][i]["peak_bytes"]);
    EXPECT_EQ(plans.plans[i].segments.size(), json["plans"][i]["segments"].size());
  }
  EXPECT_EQ(plans.report.Render().value(), Reporting(arguments));
  EXPECT_EQ(plans.report.Render("pytorch").value(), Reporting(arguments + " --emit pytorch"));
  EXPECT_EQ(plans.report.Render("plan").value(), Reporting(arguments + " --emit json"));

  ASSERT_TRUE(plans.chosen);
  const mem::Plan& chosen = plans.plans[*plans.chosen];
  ASSERT_FALSE(chosen.segments.empty());
  workload.segments = chosen.segments;
  workload.mode = "train";
  const mem::Analysis with_plan = model.Analyze(workload).value();
  EXPECT_EQ(with_plan.runs.front().training->peak_bytes, chosen.peak_bytes);
  EXPECT_EQ(with_plan.runs.front().recompute_flops, chosen.recompute_flops);
}

TEST(Library, FitTellsCardsAndWays) {
  mem::Question workload;
  workload.batches = {512};
  workload.mode = "train";
  workload.gpu = "T4,RTX 4090";
  const std::string path = PathOf("resnet18.train.ts.op17");
  const mem::Fitting fitting = ModelAt(path).Fit(workload).value();
  const std::string arguments = "fit " + path + " -b 512 -m train --gpu 'T4,RTX 4090'";
  const Json json = JsonOf(arguments);
  ASSERT_EQ(fitting.cards.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fitting.cards[i].name, json["cards"][i]["gpu"]["name"].get<std::string>());
    EXPECT_EQ(fitting.cards[i].parts.front().largest_batch, json["cards"][i]["largest_batch"].get<int64_t>());
    EXPECT_EQ(fitting.cards[i].parts.front().fits, json["cards"][i]["fits"]);
  }
  ASSERT_EQ(fitting.ways.size(), json["ways"].size());
  for (size_t i = 0; i < fitting.ways.size(); ++i) {
    EXPECT_EQ(fitting.ways[i].flags, json["ways"][i]["flags"].get<std::vector<std::string>>());
    EXPECT_EQ(fitting.ways[i].device_bytes, json["ways"][i]["device_bytes"]);
  }
  EXPECT_EQ(fitting.report.Render().value(), Reporting(arguments));

  workload.segments = {{{"layer1"}, {}, {}}};
  EXPECT_EQ(ModelAt(path).Fit(workload).value().report.Render().value(), Reporting(arguments + " --segment layer1"));
}

TEST(Library, CompareTellsBothSides) {
  mem::Question workload;
  workload.batches = {32};
  const std::string base = PathOf("resnet18.train.ts.op17"), head = PathOf("resnet18.fp16.train.ts.op17");
  const auto compared = mem::Model::Compare({ModelAt(base), ModelAt(head)}, workload, 0.02);
  ASSERT_TRUE(compared) << compared.error().message;
  const std::string arguments = "compare " + base + " " + head + " -b 32 --max-increase 2%";
  const Json json = JsonOf(arguments);
  EXPECT_EQ(compared->within, json["within"]);
  ExpectRun(compared->base.run, json["base"]["runs"][0]);
  ExpectRun(compared->heads.front().run, json["head"]["runs"][0]);
  EXPECT_EQ(compared->heads.front().layers.size(), json["layers"].size());
  EXPECT_EQ(compared->report.Render().value(), Reporting(arguments));
  EXPECT_EQ(compared->report.Render("md").value(), Reporting(arguments + " -f md"));
}

TEST(Library, BytesAreAsGoodAsAFile) {
  std::ifstream in(kLenet, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const mem::Model model = mem::Model::Parse(std::move(bytes), "from memory").value();
  const mem::Analysis analysis = model.Analyze().value();
  EXPECT_EQ(analysis.model.path, "from memory");
  EXPECT_EQ(analysis.runs.front().training->peak_bytes,
            ModelAt(kLenet).Analyze().value().runs.front().training->peak_bytes);
}

template <class T>
std::string CodeOf(const mem::Result<T>& result) {
  return result ? "ok" : result.error().code;
}

TEST(Library, ErrorsCarryCodes) {
  const auto absent = mem::Model::Open(PathOf("lenet5.train.ts.op18"));
  EXPECT_EQ(CodeOf(absent), "not-found");
  EXPECT_FALSE(absent.error().details.empty());  // did you mean
  EXPECT_THROW((void)absent.value(), std::runtime_error);
  EXPECT_EQ(CodeOf(mem::Model::Parse("", "nothing")), "empty");
  EXPECT_EQ(CodeOf(mem::Model::Parse("no model at all", "text")), "not-onnx");

  const mem::Model model = ModelAt(kLenet);
  const auto code_with = [&](auto change) {
    mem::Question workload;
    change(workload);
    return CodeOf(model.Analyze(workload));
  };
  EXPECT_EQ(code_with([](mem::Question& w) { w.batches = {0}; }), "usage");
  EXPECT_EQ(code_with([](mem::Question& w) { w.optimizer = "adamm"; }), "usage");
  EXPECT_EQ(code_with([](mem::Question& w) { w.optimizer = ""; }), "usage");
  EXPECT_EQ(code_with([](mem::Question& w) { w.freeze = {"("}; }), "usage");
  EXPECT_EQ(code_with([](mem::Question& w) { w.freeze = {"absent"}; }), "no-match");
  EXPECT_EQ(code_with([](mem::Question& w) { w.gpu = "RTX 4009"; }), "unknown-gpu");
  EXPECT_EQ(code_with([](mem::Question& w) { w.budget_bytes = -1; }), "usage");
  EXPECT_EQ(code_with([](mem::Question& w) { w.dims = {{"absent", 3}}; }), "unknown-dim");
  EXPECT_EQ(code_with([](mem::Question& w) { w.inputs = {{"absent", {3}}}; }), "unknown-input");
  EXPECT_EQ(code_with([](mem::Question& w) { w.hold = {"absent"}; }), "unknown-tensor");
  EXPECT_EQ(code_with([](mem::Question& w) { w.segments = {{}}; }), "usage");
  EXPECT_EQ(code_with([](mem::Question& w) { w.dtype = w.amp = "fp16"; }), "usage");
  EXPECT_EQ(code_with([](mem::Question&) {}), "ok");

  mem::Question on_a_card;
  on_a_card.gpu = "T4";
  EXPECT_EQ(CodeOf(mem::Model::Compare({model, model}, on_a_card)), "ok");
  EXPECT_EQ(CodeOf(model.Fit({})), "usage");
  EXPECT_EQ(CodeOf(mem::Model::Compare({})), "usage");
  EXPECT_EQ(CodeOf(mem::Model::Compare({model})), "usage");
  EXPECT_EQ(CodeOf(mem::Report().Render()), "usage");
  const mem::Report report = model.Analyze().value().report;
  EXPECT_EQ(CodeOf(report.Render("yaml")), "usage");
  EXPECT_EQ(CodeOf(report.Render("pytorch")), "usage");
  EXPECT_EQ(CodeOf(report.Render("table", "furlongs")), "usage");
}

// A value of each type of a member that is no default.
template <class T>
T Sample() {
  if constexpr (std::is_same_v<T, std::string>) return "x";
  if constexpr (std::is_same_v<T, bool>) return true;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return {"x"};
  if constexpr (std::is_same_v<T, std::vector<mem::Segment>>) return {{{"x"}, {}, {}}};
  if constexpr (std::is_same_v<T, mem::Sizes>) return {{"x", 3}};
  if constexpr (std::is_same_v<T, mem::Shapes>) return {{"x", {3}}};
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) return {3};
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) return 3;
  if constexpr (std::is_same_v<T, std::optional<int64_t>> || std::is_same_v<T, std::optional<double>>) return 3;
}

// Each row of question.inc takes what its member holds: what it refuses is the user's doing, never ours.
TEST(Library, EveryMemberIsTakenByItsOption) {
  using mem::Segment, mem::Sizes, mem::Shapes;
  const mem::Model model = ModelAt(kLenet);
#define ONNX_MEM_QUESTION(type, member, initial)                                       \
  {                                                                                    \
    mem::Question question;                                                            \
    question.member = Sample<type>();                                                  \
    EXPECT_NE(CodeOf(model.Analyze(question)), "internal") << "Question::" << #member; \
  }
#define ONNX_MEM_PLANNING(type, member, initial)                                       \
  {                                                                                    \
    mem::PlanOptions plan;                                                             \
    plan.member = Sample<type>();                                                      \
    EXPECT_NE(CodeOf(model.Plan({}, plan)), "internal") << "PlanOptions::" << #member; \
  }
#define ONNX_MEM_LISTING(type, member, initial)                                          \
  {                                                                                      \
    mem::Listing listing;                                                                \
    listing.member = Sample<type>();                                                     \
    EXPECT_NE(CodeOf(model.Analyze({}, listing)), "internal") << "Listing::" << #member; \
  }
#include <onnx_mem/question.inc>
}

TEST(Library, ErrorTextsAreTheCommandLines) {
  mem::Question workload;
  workload.optimizer = "adamm";
  const mem::Error error = ModelAt(kLenet).Analyze(workload).error();
  const Json json = JsonOf(kLenet + " --optimizer adamm")["error"];
  EXPECT_EQ(error.message, json["message"].get<std::string>());
  EXPECT_EQ(error.details, json["details"].get<std::vector<std::string>>());
}

TEST(Library, ThreadsMayAskOneModel) {
  mem::Question workload;
  workload.batches = {2};
  const mem::Model model = ModelAt(kLenet);
  const mem::Analysis analysis = model.Analyze(workload).value();
  std::vector<std::string> texts(4);
  std::vector<int64_t> peaks(texts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] {
      texts[i] = analysis.report.Render().value();
      peaks[i] = model.Analyze(workload).value().runs.front().training->peak_bytes;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(texts[i], texts.front());
    EXPECT_EQ(peaks[i], analysis.runs.front().training->peak_bytes);
  }
}

TEST(Library, TellsItsVersion) { EXPECT_NE(Reporting("--version").find(mem::Version()), std::string::npos); }

}  // namespace
