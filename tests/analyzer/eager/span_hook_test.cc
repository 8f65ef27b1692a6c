// What a hook around a call sees of it: tensors that nodes save and that operators make.
#include "analyzer/eager/spans/span_hook.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {
namespace {

// Keeps what nodes save under its own name, and hands it out when a node reads it.
class Keeper : public SpanHook, public Packed, public std::enable_shared_from_this<Keeper> {
 public:
  std::optional<SavedTensor> OnSave(int32_t, const TensorRef& t) override {
    kept = t;
    return SavedTensor{.tensor = nullptr, .packed = shared_from_this(), .slot = 0};
  }
  bool OnDispatch(std::string_view op) override {
    if (op != "known") made += std::string(op) + " ";
    return op != "known";
  }
  TensorRef Kept(int output) override { return output == 0 ? kept : nullptr; }
  TensorRef Unpack(const SavedTensor&) override { return kept; }
  void Drop(const SavedTensor&) override { kept.reset(); }

  TensorRef kept;
  std::string made;
};

TEST(SpanHookTest, TakesWhatNodesSaveWhileItsCallRuns) {
  onnx_mem::Run run;
  run.training = true;
  Machine m(run);
  TensorRef x = m.New("input", Dims{4}, DType::kFloat32);
  x->requires_grad = true;
  x->is_leaf_parameter = true;
  const auto hook = std::make_shared<Keeper>();

  m.SetSpan(hook.get());
  TensorRef inside = m.NewLike("relu", *x);
  NodeRef node = m.MakeNode("ReluBackward0", {x});
  ASSERT_TRUE(node);
  node.Save(inside);
  const int64_t live_bytes = m.recorder().live_bytes();
  const StepId step = m.recorder().current_step();
  EXPECT_EQ(m.New("known", Dims{4}, DType::kFloat32), inside);      // the hook has it already: no operator runs
  EXPECT_EQ(m.Allocate(Dims{4}, DType::kBool)->storage->bytes, 0);  // the hook has it not
  EXPECT_EQ(m.recorder().live_bytes(), live_bytes);
  EXPECT_EQ(m.recorder().current_step(), step);
  m.SetSpan(nullptr);
  NodeRef after = m.MakeNode("ReluBackward0", {x});
  after.Save(x);

  EXPECT_EQ(hook->made, "relu ");
  AutogradNode* of_call = nullptr;
  for (size_t i = 0; i < m.num_nodes(); ++i) {
    AutogradNode& one = m.node(static_cast<int32_t>(i));
    for (const SavedTensor& saved : one.saved) {
      if (saved.packed == nullptr) {
        EXPECT_EQ(m.Unpack(saved)->storage, x->storage);
      } else {
        EXPECT_EQ(m.Unpack(saved), inside);
        of_call = &one;
      }
    }
  }
  ASSERT_NE(of_call, nullptr);
  m.Release(of_call->saved);
  EXPECT_EQ(hook->kept, nullptr);
  EXPECT_EQ(hook.use_count(), 1);  // nothing holds what it gave
}

}  // namespace
}  // namespace onnx_mem::eager
