// A storage that is given back while tensors stand on it, and made again.
#include <gtest/gtest.h>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {
namespace {

TEST(StorageTest, ReleasedAndMaterializedItIsTwoBuffers) {
  const onnx_mem::Run run;
  Machine m(run);
  const TensorRef t = m.New("empty", Dims{2}, DType::kFloat32);
  m.BeginStep("forward");
  t->storage->Release();
  t->storage->Release();  // of nothing: nothing
  EXPECT_EQ(m.recorder().live_bytes(), 0);
  m.BeginStep("all_gather");
  t->storage->Materialize(t->dims, t->dtype);
  EXPECT_EQ(m.recorder().live_bytes(), 8);
  const MemoryProgram program = m.recorder().Finish();
  ASSERT_EQ(program.buffers.size(), 2u);
  EXPECT_EQ(program.buffers[BufferId(0)].begin, StepId(0));
  EXPECT_EQ(program.buffers[BufferId(0)].end, StepId(2));
  EXPECT_EQ(program.buffers[BufferId(1)].begin, StepId(2));
  EXPECT_EQ(program.buffers[BufferId(1)].end, StepId(3));
}

}  // namespace
}  // namespace onnx_mem::eager
