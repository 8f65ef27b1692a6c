// What a row says of storages against what the operator's row in eager does with them: whether it keeps its result for
// backward, which nobody may overwrite then, and whether its result is a view.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/ops/ops.h"
#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

// Calls of `row` on `count` tensors of some dims, with some attributes.
struct Trial {
  bool ran = false;
  bool saves_result = false;
  bool views = false;  // the result is on the first input's storage
};

Trial Try(const OpRow& row, const Dims& dims, size_t count, const Attributes& attributes) {
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (size_t i = 0; i < count; ++i) inputs.push_back(run.Static({dims}));
  FrameworkNode node;
  node.attributes = attributes;
  CallShape shape{.node = node, .inputs = {}, .output = &dims};
  for (const TensorRef& input : inputs) shape.inputs.push_back(&input->dims);
  Trial trial;
  if (!Fits(row, shape)) return trial;
  const size_t before = run.buffers();
  const TensorRef y = run.One(row.name, inputs, dims, attributes);
  if (y == nullptr || y->storage == nullptr) return trial;
  trial.ran = true;
  trial.views = y->storage == inputs[0]->storage;
  const bool made = static_cast<size_t>(y->storage->buffer.value()) >= before;
  trial.saves_result =
      made && run.machine().recorder().program().buffers[y->storage->buffer].kept_by.starts_with("saved by");
  return trial;
}

// Whatever holds of one call.
Trial TryAll(const OpRow& row) {
  Trial any;
  const Attributes axes = {{"axis", int64_t{0}}, {"axes", std::vector<int64_t>{0}}};
  for (const Dims& dims : {Dims{4}, Dims{4, 4}, Dims{4, 4, 4}, Dims{4, 4, 4, 4}}) {
    for (size_t count = static_cast<size_t>(std::max<int>(row.inputs, 1)); count <= 3; ++count) {
      for (const Attributes& attributes : {Attributes(), axes}) {
        const Trial one = Try(row, dims, count, attributes);
        any.ran |= one.ran;
        any.saves_result |= one.saves_result;
        any.views |= one.views;
      }
    }
  }
  return any;
}

TEST(OpFacts, KnowsEveryOperatorThatSavesWhatItMade) {
  int saving = 0;
  for (const OpRow* row : AllOps()) {
    const bool saves = TryAll(*row).saves_result;
    saving += saves;
    EXPECT_TRUE(!saves || SavesResult(FactsOf(row->name)))
        << row->name << " saves its result: say so in analyzer/ops/ops.inc";
  }
  EXPECT_GT(saving, 15);
}

TEST(OpFacts, KnowsEveryView) {
  int views = 0;
  for (const OpRow* row : AllOps()) {
    const Trial trial = TryAll(*row);
    const OpFacts& op = FactsOf(row->name);
    views += trial.views;
    const bool writes = op.name == "copy_into" || op.name == "leaf" || op.name == "copy" || op.name == "overwrite";
    const bool hands_on = op.name == "all_reduce_gradient";  // its input, for the sake of its backward
    EXPECT_TRUE(!trial.views || writes || hands_on || IsView(op) || IsCopy(op))
        << row->name << " is on the storage of its input";
    EXPECT_TRUE(!trial.ran || !IsView(op) || trial.views) << row->name << " makes a storage of its own";
  }
  EXPECT_GT(views, 8);
}

}  // namespace
}  // namespace onnx_mem::eager
