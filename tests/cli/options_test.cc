#include "cli/options/options.h"

#include <gtest/gtest.h>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

Options Parsed(const std::vector<std::string>& arguments) {
  ParsedOptions parsed = ParseOptions(arguments);
  EXPECT_TRUE(parsed.status.ok()) << parsed.status.message();
  return parsed.options;
}

// "message | detail | detail" of a command line that must be refused.
std::string Refusal(const std::vector<std::string>& arguments) {
  const ParsedOptions parsed = ParseOptions(arguments);
  EXPECT_FALSE(parsed.status.ok());
  const Diagnostic diagnostic = DiagnosticOf(parsed.status);
  EXPECT_EQ(diagnostic.code, Code::kUsage);
  std::string text = diagnostic.message;
  for (const std::string& line : diagnostic.details) text += " | " + line;
  return text;
}

TEST(ParseOptions, DefaultsAreThoseOfTheContract) {
  const Options options = Parsed({"m.onnx"});
  EXPECT_EQ(options.command, "analyze");
  EXPECT_EQ(options.operands, (std::vector<std::string>{"m.onnx"}));
  EXPECT_TRUE(options.batches.empty());
  EXPECT_EQ(options.workload.mode, Mode::kBoth);
  EXPECT_EQ(options.workload.run, onnx_mem::Run());
  EXPECT_EQ(options.workload.optimizer.name, "adam");
  EXPECT_EQ(options.workload.allocator, "pytorch");
  EXPECT_EQ(options.format, "table");
  EXPECT_FALSE(options.top);
  EXPECT_EQ(options.by, By::kNone);
}

TEST(ParseOptions, TakesOptionsBeforeAndAfterTheModel) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--batch", "64", "m.onnx", "-m", "train"},
                                             {"-b64", "-mtrain", "m.onnx"},
                                             {"m.onnx", "--batch=64", "--mode=train"}}) {
    const Options options = Parsed(arguments);
    EXPECT_EQ(options.batches, (std::vector<int64_t>{64}));
    EXPECT_EQ(options.workload.mode, Mode::kTraining);
    EXPECT_EQ(options.operands, (std::vector<std::string>{"m.onnx"}));
  }
}

TEST(ParseOptions, SetsWhatTheRunNeeds) {
  const Options options = Parsed({"m.onnx",    "--dim",          "seq=512",  "--dim",       "n=2",   "--input",
                                  "x=1x3x8x8", "--amp",          "bf16",     "--loss",      "mse",   "--freeze",
                                  "^stem",     "--freeze",       "embed",    "--hold",      "y",     "--attention",
                                  "flash",     "--bn",           "unfold",   "--dropout",   "0.1",   "--inplace",
                                  "none",      "--optimizer",    "sgd",      "--allocator", "exact", "--requires-grad",
                                  "x",         "--checkpointed", "layer[12]"});
  const Workload& workload = options.workload;
  EXPECT_EQ(workload.bindings.dims.at("seq"), 512);
  EXPECT_EQ(workload.bindings.dims.at("n"), 2);
  EXPECT_EQ(workload.bindings.inputs.at("x"), (Dims{1, 3, 8, 8}));
  EXPECT_EQ(workload.run.autocast, DType::kBFloat16);
  EXPECT_EQ(workload.run.dtype, std::nullopt);
  EXPECT_EQ(workload.run.loss, LossKind::kMse);
  EXPECT_EQ(workload.run.freeze, (std::vector<std::string>{"^stem", "embed"}));
  EXPECT_EQ(workload.run.hold, (std::vector<std::string>{"y"}));
  EXPECT_EQ(workload.run.requires_grad, (std::vector<std::string>{"x"}));
  EXPECT_EQ(workload.run.checkpointed, (std::vector<std::string>{"layer[12]"}));
  EXPECT_EQ(workload.run.attention, AttentionKernel::kFlash);
  EXPECT_EQ(workload.run.batch_norm, BatchNormMode::kUnfold);
  EXPECT_EQ(workload.run.dropout, 0.1);
  EXPECT_EQ(workload.run.inplace, "none");
  EXPECT_EQ(workload.optimizer.name, "sgd");
  EXPECT_EQ(workload.allocator, "exact");
}

TEST(ParseOptions, TheLastOfAnOptionCounts) {
  EXPECT_EQ(Parsed({"m.onnx", "-b", "1", "-b", "2"}).batches, (std::vector<int64_t>{2}));
  EXPECT_EQ(Parsed({"m.onnx", "--dtype", "fp16", "--dtype", "file"}).workload.run.dtype, std::nullopt);
}

TEST(ParseOptions, SizesAndLimits) {
  const Options options = Parsed({"m.onnx", "--budget", "8GiB", "--gpu-memory", "24GB", "--top", "0", "--units", "MB"});
  EXPECT_EQ(options.budget_bytes, int64_t{8} << 30);
  EXPECT_EQ(options.gpu_memory_bytes, 24'000'000'000);
  EXPECT_EQ(options.top, 0);
  EXPECT_EQ(options.units, ByteUnit::kMB);
}

TEST(ParseOptions, ExportsTakeTheirFormatFromTheExtension) {
  EXPECT_EQ(Parsed({"m.onnx", "-o", "a.json", "-o", "csv=b.txt", "--export", "./d=x/c.md"}).exports,
            (std::vector<Export>{{"json", "a.json"}, {"csv", "b.txt"}, {"md", "./d=x/c.md"}}));
}

TEST(ParseOptions, ModelsThatLookLikeOptionsOrCommands) {
  EXPECT_EQ(Parsed({"--", "-m.onnx"}).operands, (std::vector<std::string>{"-m.onnx"}));
  EXPECT_EQ(Parsed({"./completion"}).command, "analyze");
  EXPECT_EQ(Parsed({"analyze", "completion"}).operands, (std::vector<std::string>{"completion"}));
}

TEST(ParseOptions, TheCommandIsTheFirstWordThatIsNoOptionsValue) {
  const Options options = Parsed({"--help", "completion", "bash"});
  EXPECT_EQ(options.command, "completion");
  EXPECT_EQ(options.operands, (std::vector<std::string>{"bash"}));
  EXPECT_EQ(Parsed({"-o", "a.json", "m.onnx"}).command, "analyze");
}

TEST(ParseOptions, SuggestsWhatWasMeant) {
  EXPECT_EQ(Refusal({"m.onnx", "--bacth", "64"}),
            "unknown option '--bacth' | did you mean: --batch      (onnx-mem --help)");
  EXPECT_EQ(Refusal({"m.onnx", "-batch", "64"}),
            "unknown option '-batch' | did you mean: --batch      (onnx-mem --help)");
  EXPECT_EQ(Refusal({"m.onnx", "--frobnicate=3"}), "unknown option '--frobnicate' | try: onnx-mem --help");
  EXPECT_EQ(Refusal({"analyse", "m.onnx"}), "unknown command 'analyse' | did you mean: analyze");
  EXPECT_EQ(Refusal({"m.onnx", "--mode", "trian"}),
            "--mode: 'trian' is not one of both, train, infer | did you mean: train");
  EXPECT_EQ(Refusal({"completion", "bash", "--batch", "3"}),
            "option '--batch' is not one of 'completion' | try: onnx-mem completion --help");
}

TEST(ParseOptions, SaysWhatIsMissing) {
  EXPECT_EQ(Refusal({"-b", "3"}), "no MODEL... given | way out: onnx-mem MODEL...");
  EXPECT_EQ(Refusal({"completion"}), "no bash|zsh|fish given | way out: onnx-mem completion bash|zsh|fish");
  EXPECT_EQ(Refusal({"m.onnx", "--batch"}), "--batch needs a value");
  EXPECT_EQ(Refusal({"check", "a.onnx", "b.onnx"}), "unexpected argument 'b.onnx'");
}

// An unset variable of a script must not become a pattern that matches everything, or no checkpoint at all.
TEST(ParseOptions, RefusesEmptyPartsOfValues) {
  for (const char* option : {"--freeze", "--inplace", "--checkpointed", "--plan", "--cost", "--gpu", "--segment"}) {
    EXPECT_EQ(Refusal({"m.onnx", option, ""}), std::string(option) + " needs a value");
  }
  EXPECT_EQ(Refusal({"m.onnx", "--segment", "layer1,"}),
            "--segment: 'layer1,' has no name after a comma | way out: names with one comma between two of them, as "
            "in first,second");
  EXPECT_EQ(Refusal({"m.onnx", "--gpu", ",T4"}),
            "--gpu: ',T4' has no name before its comma | way out: names with one comma between two of them, as "
            "in first,second");
  EXPECT_EQ(Refusal({"m.onnx", "--no-rewrite", "gelu,,silu"}).substr(0, 34), "--no-rewrite: 'gelu,,silu' has no ");
  EXPECT_EQ(
      Refusal({"m.onnx", "--dropout", "0.1:"}),
      "--dropout: '0.1:' names no place behind its colon | try: ... --dropout 0.1   # behind everything; --dropout "
      "0.1:attn: behind what matches");
  EXPECT_EQ(Parsed({"m.onnx", "--segment", "a, b"}).workload.run.segments[0].modules,
            (std::vector<std::string>{"a", "b"}));
}

TEST(ParseOptions, NumbersOfOptimizersAreDecimal) {
  EXPECT_EQ(Parsed({"m.onnx", "--optimizer", "4.5"}).workload.optimizer.bytes_per_parameter, 4.5);
  for (const char* text : {"0x10", "+8", "8 ", "8B", "nan", "inf", "1e400", "-1", "8,"}) {
    EXPECT_EQ(Refusal({"m.onnx", "--optimizer", text}).substr(0, 31), "--optimizer: unknown optimizer ");
  }
}

// What it takes is known of the versions whose sources and readings were looked at.
TEST(ParseOptions, RefusesVersionsOfPyTorchThatAreNotKnown) {
  for (const char* known : {"1.13", "1.13.1+cu117", "2.0", "2.15", "2.15.1"}) {
    EXPECT_TRUE(Parsed({"m.onnx", "--torch", known}).workload.platform.torch) << known;
  }
  const auto [options, status] = ParseOptions({"m.onnx", "--torch", "0.1"});
  EXPECT_FALSE(options.workload.platform.torch);
  EXPECT_EQ(Refusal({"m.onnx", "--torch", "0.1"}),
            "--torch: what PyTorch 0.1 takes is not known: versions 1.13 to 2.15 are | try: ... --torch 1.13   # the "
            "nearest");
  EXPECT_EQ(Refusal({"m.onnx", "--torch", "2.99"}),
            "--torch: what PyTorch 2.99 takes is not known: versions 1.13 to 2.15 are | try: ... --torch 2.15   # the "
            "nearest");
}

TEST(ParseOptions, RefusesWhatContradictsItself) {
  EXPECT_EQ(Refusal({"m.onnx", "--dtype", "fp16", "--amp", "bf16"}),
            "--dtype converts the weights and --amp keeps them in fp32: choose one");
  EXPECT_EQ(Refusal({"m.onnx", "-q", "-v"}), "-q and -v contradict each other");
  EXPECT_EQ(Refusal({"m.onnx", "-q", "-f", "json"}), "-q prints one line and --format json a report: choose one");
  EXPECT_EQ(Refusal({"m.onnx", "-b", "1,2", "--by", "layer"}),
            "--by lists what one batch holds | try: ... -b 1   # one batch");
  EXPECT_EQ(Refusal({"m.onnx", "--gpu", "T4", "--gpu-memory", "16GiB"}), "--gpu and --gpu-memory: choose one");
  EXPECT_EQ(Refusal({"m.onnx", "--plan", "p.json", "-m", "infer"}), "--plan is about training, and --mode is infer");
}

TEST(ParseOptions, KnowsTheFormatEvenWhereItFails) {
  EXPECT_EQ(ParseOptions({"m.onnx", "--batch", "x", "-f", "json"}).options.format, "json");
  EXPECT_EQ(ParseOptions({"m.onnx", "--nonsense", "-f", "json"}).options.format, "json");
  EXPECT_EQ(ParseOptions({"m.onnx", "--format=json", "--batch"}).options.format, "json");
}

// "--budget 4" is 4 GiB to who writes it; what cannot be anything but bytes is taken as bytes.
TEST(ParseOptions, RefusesSizesWithoutAUnit) {
  for (const char* option : {"--budget", "--gpu-memory"}) {
    for (const char* size : {"4", "24", "1.5", "1000000", "8589934592"}) {
      const ParsedOptions parsed = ParseOptions({"m.onnx", option, size});
      ASSERT_FALSE(parsed.status.ok()) << option << " " << size;
      const Diagnostic diagnostic = DiagnosticOf(parsed.status);
      EXPECT_EQ(diagnostic.code, Code::kUsage);
      EXPECT_EQ(diagnostic.message, std::string(option) + ": '" + size + "' is a number without a unit");
      EXPECT_TRUE(diagnostic.details.front().starts_with(std::string("did you mean: ") + size)) << size;
    }
    for (const char* size : {"4GiB", "4G", "512 MiB", "0", "100B", "8589934592B"}) {
      EXPECT_TRUE(ParseOptions({"m.onnx", option, size}).status.ok()) << option << " " << size;
    }
  }
  EXPECT_TRUE(ParseOptions({"plan", "--instance", "graph.json", "--budget", "4"}).status.ok());
}

}  // namespace
}  // namespace onnx_mem
