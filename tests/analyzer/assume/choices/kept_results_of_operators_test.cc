// Who may be written over: what assume says of an operator against what its row in eager saves.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analyzer/assume/choices/inplace.h"
#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

// True if a call of `row` on tensors of these dims keeps the storage that it made its result in.
bool SavesItsResult(const OpRow& row, const Dims& dims, size_t count, const Attributes& attributes) {
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (size_t i = 0; i < count; ++i) inputs.push_back(run.Static({dims}));
  Node node;
  node.attributes = attributes;
  CallShape shape{.node = node, .inputs = {}, .output = &dims};
  for (const TensorRef& input : inputs) shape.inputs.push_back(&input->dims);
  if (!Fits(row, shape)) return false;
  const size_t before = run.buffers();
  const TensorRef y = run.One(row.name, inputs, dims, attributes);
  if (y == nullptr || y->storage == nullptr || static_cast<size_t>(y->storage->buffer.value()) < before) return false;
  return run.machine().recorder().program().buffers[y->storage->buffer].kept_by.starts_with("saved by");
}

TEST(KeepsResult, KnowsEveryOperatorThatSavesWhatItMade) {
  int saving = 0;
  for (const OpRow* row : AllOps()) {
    bool saves = false;
    for (const Dims& dims : {Dims{4}, Dims{4, 4}, Dims{4, 4, 4}, Dims{4, 4, 4, 4}}) {
      for (size_t count = static_cast<size_t>(std::max<int>(row->inputs, 1)); count <= 3; ++count) {
        saves = saves || SavesItsResult(*row, dims, count, {});
        saves = saves || SavesItsResult(*row, dims, count, {{"axis", int64_t{0}}, {"axes", std::vector<int64_t>{0}}});
      }
    }
    saving += saves;
    EXPECT_TRUE(!saves || KeepsResult(row->name))
        << row->name << " saves its result: add it to kSavesOutput in analyzer/assume/choices/inplace.cc";
  }
  EXPECT_GT(saving, 15);
}

}  // namespace
}  // namespace onnx_mem::eager
