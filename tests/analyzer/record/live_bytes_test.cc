// Live bytes after every operator of forward, against those that the record's replay in PyTorch had: a difference names
// the first operator where the two part. Shapes and strides of what each operator makes are those of the record.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/engine/tensor.h"
#include "analyzer/record/format/text.h"
#include "analyzer/record/lower/lower_record.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/analyzer/record/recorded_models.h"
#include "tests/gunzip.h"

namespace onnx_mem {
namespace {

class RecordedForward : public testing::TestWithParam<std::string> {};

// "addmm:57" -> 57.
int64_t LineOf(const FrameworkNode& node) {
  int64_t line = 0;
  EXPECT_TRUE(absl::SimpleAtoi(node.name.substr(node.name.rfind(':') + 1), &line));
  return line;
}

bool HasStrides(const eager::EagerTensor& t, const Dims& strides) {
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] > 1 && t.strides[i] != strides[i]) return false;
  }
  return true;
}

// Of a value at a batch, row-major where the record gives none.
Dims StridesOf(const record::ValueType& type, int64_t batch) {
  Dims dims, strides;
  for (const record::Size& size : type.dims) dims.push_back(record::At(size, {.batch = batch}).value_or(-1));
  if (!type.strides) return ContiguousStrides(dims);
  for (const record::Size& size : *type.strides) strides.push_back(record::At(size, {.batch = batch}).value_or(-1));
  return strides;
}

void CheckForward(const record::Record& record, bool training, const nlohmann::json& live) {
  const int64_t batch = live.at("batch");
  const record::Program& program = training ? *record.train : *record.eval;
  std::map<int64_t, int64_t> truth;  // by line
  std::map<int64_t, const record::Line*> lines;
  const std::vector<int64_t> numbers = live.at(training ? "train" : "eval");
  size_t next = 0;
  bool in_backward = false;
  for (const record::Line& line : program.lines) {
    if (line.kind == record::Line::Kind::kBackward) in_backward = true;
    if (line.kind == record::Line::Kind::kEndBackward) in_backward = false;
    if (line.kind != record::Line::Kind::kOp || in_backward) continue;
    lines[line.number] = &line;
    if (next < numbers.size()) truth[line.number] = numbers[next++];
  }
  EXPECT_EQ(next, numbers.size());
  ASSERT_EQ(truth.size(), lines.size());

  Run run;
  run.training = training;
  Graph graph;
  graph.record = std::make_shared<const BoundRecord>(
      BoundRecord{.record = std::make_shared<const record::Record>(record), .place = {.batch = batch}});
  const absl::StatusOr<Lowered> lowered = Prepare(graph, run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  eager::Machine m(run);
  eager::Executor executor(m, *lowered);
  executor.AllocateStatics([&](TensorId id) { return !lowered->frozen.contains(id); },
                           [](const Tensor&) { return false; });
  m.SetGradEnabled(training);
  // The target of the loss is an input that the record does not have.
  std::optional<int64_t> target_bytes;
  int reported = 0;
  executor.SetObserver(
      [&](int32_t index, std::span<const eager::TensorRef>, std::span<const eager::TensorRef> outputs, StepId) {
        const FrameworkNode& node = lowered->graph.nodes[NodeId(index)];
        if (!lines.contains(LineOf(node))) return;  // no operator
        const record::Line& line = *lines.at(LineOf(node));
        const std::string where =
            absl::StrCat(training ? "train" : "eval", " ", node.name, " (", node.op.str(), ") in '", node.module, "'");
        const int64_t difference = truth.at(line.number) - m.recorder().live_bytes();
        if (!target_bytes) target_bytes = difference;
        if (difference != target_bytes && reported++ < 3) {
          ADD_FAILURE() << where << ": " << m.recorder().live_bytes() + *target_bytes << " bytes live, should be "
                        << truth.at(line.number);
          target_bytes = difference;
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
          if (outputs[i] == nullptr || !node.outputs[i].valid()) continue;
          const Tensor& tensor = lowered->graph.tensors[node.outputs[i]];
          EXPECT_EQ(ToString(Shape(outputs[i]->dims)), ToString(tensor.shape)) << where;
          EXPECT_EQ(NameOf(outputs[i]->dtype), NameOf(tensor.dtype)) << where;
          const Dims strides = StridesOf(program.values[static_cast<size_t>(line.values[i])].type, batch);
          if (outputs[i]->dims.size() == strides.size()) {
            EXPECT_TRUE(HasStrides(*outputs[i], strides))
                << where << " result " << i << ": strides " << ToString(Shape(outputs[i]->strides)) << ", should be "
                << ToString(Shape(strides));
          }
        }
      });
  std::vector<eager::NodeRange> checkpointed;
  if (training) {
    for (const CheckpointCall& call : lowered->checkpointed) {
      checkpointed.push_back(eager::NodeRange{call.span});
      checkpointed.back().arguments = call.arguments;
    }
  }
  ASSERT_TRUE(executor.RunForward(checkpointed).ok());
}

TEST_P(RecordedForward, HasTheLiveBytesOfTheReplay) {
  const std::string packed = Gunzip(RecordsPath(GetParam() + ".live.json.gz"));
  if (packed.empty()) GTEST_SKIP();
  const absl::StatusOr<record::Record> record = record::ParseRecord(TextOfFile(RecordsPath(GetParam() + ".eager")));
  ASSERT_TRUE(record.ok()) << record.status();
  const nlohmann::json live = nlohmann::json::parse(packed);
  CheckForward(*record, /*training=*/false, live);
  CheckForward(*record, /*training=*/true, live);
}

TEST_P(RecordedForward, IsReadAndWrittenBack) {
  const std::string text = TextOfFile(RecordsPath(GetParam() + ".eager"));
  const absl::StatusOr<record::Record> record = record::ParseRecord(text);
  ASSERT_TRUE(record.ok()) << record.status();
  const std::string written = record::ToText(*record);
  const absl::StatusOr<record::Record> again = record::ParseRecord(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(record::ToText(*again), written);
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
}

INSTANTIATE_TEST_SUITE_P(All, RecordedForward, testing::ValuesIn(RecordedModels()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace onnx_mem
