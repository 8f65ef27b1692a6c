// Every command in every format, with every list, part and number of batches: each combination answers or refuses, none
// crashes, and what programs read can be read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "cli/commands/commands.h"
#include "cli/options/options.h"

namespace onnx_mem {
namespace {

using Words = std::vector<std::string>;

const char kLeNet[] = ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.train.ts.op17.onnx";
const char kOther[] = ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.eval.dynamo.op18.onnx";

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// Fields per record of CSV text (RFC 4180); empty where a quote is left open.
std::vector<size_t> FieldsOf(const std::string& text) {
  std::vector<size_t> fields;
  size_t in_record = 1;
  bool quoted = false;
  for (char byte : text) {
    if (byte == '"') quoted = !quoted;
    if (quoted) continue;
    if (byte == ',') ++in_record;
    if (byte == '\n') {
      fields.push_back(in_record);
      in_record = 1;
    }
  }
  return quoted ? std::vector<size_t>() : fields;
}

void ExpectCsv(const std::string& text) {
  const std::vector<size_t> fields = FieldsOf(text);
  ASSERT_FALSE(fields.empty()) << text;
  EXPECT_GT(fields.front(), 1u) << text;
  for (size_t count : fields) EXPECT_EQ(count, fields.front()) << text;
}

// What is written in `format` reads as it.
void ExpectReadable(const std::string& format, const std::string& text) {
  EXPECT_FALSE(text.empty());
  if (format == "json") {
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  } else if (format == "csv") {
    ExpectCsv(text);
  } else if (format == "md") {
    // An answer in bold, or a table.
    EXPECT_TRUE(text.starts_with("**") || text.find("\n| --") != std::string::npos) << text;
  } else if (format == "html") {
    EXPECT_TRUE(text.starts_with("<!doctype html>")) << text.substr(0, 200);
    EXPECT_TRUE(text.ends_with("</html>\n"));
    EXPECT_EQ(text.find("{{"), std::string::npos);
  }
}

struct Outcome {
  bool answered = false;
  std::string text;
};

Outcome RunWords(const Words& words) {
  SCOPED_TRACE(Joined(words));
  const ParsedOptions parsed = ParseOptions(words);
  const absl::StatusOr<CommandAnswer> answer =
      parsed.status.ok() ? CommandNamed(parsed.options.command)->run(parsed.options) : parsed.status;
  if (!answer.ok()) {
    EXPECT_NE(DiagnosticOf(answer.status()).code, Code::kInternal) << answer.status().message();
    return {};
  }
  return {true, answer->text};
}

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A folder of its own, which is removed when the test ends.
class EveryForm : public testing::TestWithParam<std::string> {
 protected:
  EveryForm() {
    std::string name = (std::filesystem::temp_directory_path() / "every_form_XXXXXX").string();
    folder_ = mkdtemp(name.data()) == nullptr ? "." : name;
  }
  ~EveryForm() override { std::filesystem::remove_all(folder_); }

  // Runs `words` in the format under test, to the screen and to a file. Counts those that are answered.
  void RunBoth(const Words& words) {
    const std::string format = GetParam();
    const std::string path = folder_ + "/report";
    const Words all = words + Words{"-f", format, "-o", format + "=" + path};
    SCOPED_TRACE(Joined(all));
    const Outcome outcome = RunWords(all);
    if (!outcome.answered) return;
    ++answered_;
    ExpectReadable(format, outcome.text);
    ExpectReadable(format, FileText(path));
    std::filesystem::remove(path);
  }

  std::string folder_;
  int answered_ = 0;
};

const Words kBys = {"", "layer", "op", "tensor", "shape", "category", "step"};
const Words kModes = {"both", "train", "infer"};
const Words kBatches = {"", "2", "1,4"};

Words ByWords(const std::string& by) { return by.empty() ? Words() : Words{"--by", by}; }
Words BatchWords(const std::string& batch) { return batch.empty() ? Words() : Words{"-b", batch}; }

TEST_P(EveryForm, OfAnalyze) {
  for (const Words& models : {Words{kLeNet}, Words{kLeNet, kOther}}) {
    for (const std::string& by : kBys) {
      for (const std::string& mode : kModes) {
        for (const std::string& batch : kBatches) {
          for (const Words& more : {Words(), Words{"-v"}, Words{"--budget", "1MiB"}, Words{"--gpu", "T4", "-n", "2"}}) {
            RunBoth(models + ByWords(by) + BatchWords(batch) + Words{"-m", mode} + more);
          }
        }
      }
    }
  }
  EXPECT_GT(answered_, 100);
}

TEST_P(EveryForm, OfAnalyzeUnderOtherAllocators) {
  for (const char* allocator : {"pytorch", "pytorch-expandable", "ort", "exact"}) {
    for (const std::string& by : kBys) {
      for (const std::string& mode : kModes) RunBoth({kLeNet, "--allocator", allocator, "--by", by, "-m", mode});
    }
  }
  EXPECT_GT(answered_, 10);
}

TEST_P(EveryForm, OfCompare) {
  const std::string saved = folder_ + "/saved.json";
  ASSERT_TRUE(RunWords({kLeNet, "-b", "2", "-o", saved}).answered);
  for (const Words& sides : {Words{kLeNet, kOther}, Words{saved, kLeNet}, Words{kLeNet, saved}, Words{saved, saved},
                             Words{kLeNet, kOther, kLeNet}, Words{kLeNet}}) {
    for (const std::string& by : kBys) {
      for (const std::string& mode : kModes) {
        for (const std::string& batch : kBatches) {
          for (const Words& more : {Words(), Words{"--max-increase", "1%"}, Words{"--budget", "1MiB"}}) {
            RunBoth(Words{"compare"} + sides + ByWords(by) + BatchWords(batch) + Words{"-m", mode} + more);
          }
        }
      }
    }
  }
  EXPECT_GT(answered_, 50);
}

TEST_P(EveryForm, OfFit) {
  const std::vector<Words> cards = {
      {"--gpu", "T4"}, {"--gpu", "T4,RTX 4090"}, {"--gpu-memory", "430MiB"}, {"--budget", "1GiB", "--gpu", "T4"}};
  for (const Words& card : cards) {
    for (const std::string& mode : kModes) {
      for (const Words& batch : {Words(), Words{"-b", "64"}, Words{"-b", "4096"}, Words{"-b", "1,4"}}) {
        RunBoth(Words{"fit", kLeNet, "-m", mode} + card + batch);
      }
    }
    for (const std::string& by : kBys) RunBoth(Words{"fit", kLeNet} + card + ByWords(by));
  }
  EXPECT_GT(answered_, 30);
}

TEST_P(EveryForm, OfPlan) {
  for (const Words& budget : {Words(), Words{"--budget", "1MiB"}, Words{"--budget", "1GiB"}, Words{"--gpu", "T4"},
                              Words{"--max-batch", "--budget", "500MiB"}, Words{"--max-slowdown", "5%"}}) {
    for (const Words& more : {Words(), Words{"--granularity", "op"}, Words{"-n", "2"}, Words{"--by", "layer"}}) {
      RunBoth(Words{"plan", kLeNet, "--iterations", "8", "--time-limit", "0"} + budget + more);
    }
  }
  EXPECT_GT(answered_, 5);
}

TEST_P(EveryForm, OfCheckAndCards) {
  for (const char* model : {kLeNet, kOther}) {
    for (const Words& more : {Words(), Words{"-b", "64"}, Words{"--budget", "1MiB"}, Words{"--by", "layer"}}) {
      RunBoth(Words{"check", model} + more);
    }
  }
  for (const Words& more : {Words(), Words{"-v"}, Words{"--by", "layer"}}) RunBoth(Words{"gpus"} + more);
  EXPECT_GE(answered_, 8);
}

// One line for each batch or card, of every command that takes -q.
TEST(Quiet, OfEveryCommand) {
  for (const Words& words :
       {Words{kLeNet}, Words{kLeNet, "-b", "1,4"}, Words{kLeNet, kOther}, Words{"compare", kLeNet, kOther},
        Words{"fit", kLeNet, "--gpu", "T4"}, Words{"plan", kLeNet, "--budget", "1GiB", "--iterations", "8"}}) {
    for (const char* mode : {"both", "train", "infer"}) {
      const Words moded = words.front() == "plan" ? words : words + Words{"-m", mode};
      const Outcome outcome = RunWords(moded + Words{"-q"});
      EXPECT_TRUE(outcome.answered) << Joined(moded);
      EXPECT_FALSE(outcome.text.empty()) << Joined(moded);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryForm, testing::Values("table", "json", "csv", "md", "html"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace onnx_mem
