#include "analyzer/snapshot/stacks.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

// Of one stack, innermost frame first.
StackFacts FactsOf(std::vector<StackFrame> frames) {
  AllocatorSnapshot snapshot;
  snapshot.frames = std::move(frames);
  std::vector<FrameId> stack;
  for (FrameId id = 0; id < snapshot.frames.size(); ++id) stack.push_back(id);
  snapshot.stacks.push_back(stack);
  return FactsOfStacks(snapshot).back();
}

TEST(FactsOfStacks, KnowsWhereOptimizersMakeTheirState) {
  const StackFrame step = {"/home/me/train.py", 31, "train"};
  for (const auto& [file, name] : {std::pair{"/x/site-packages/torch/optim/adam.py", "_init_group"},
                                   std::pair{"/x/site-packages/bitsandbytes/optim/optimizer.py", "init_state"}}) {
    const StackFacts facts = FactsOf({{file, 368, name}, step});
    EXPECT_EQ(facts.made_by, MadeBy::kOptimizer) << file;
    EXPECT_TRUE(facts.state) << file;
  }
  EXPECT_FALSE(FactsOf({{"/x/site-packages/bitsandbytes/optim/optimizer.py", 410, "update_step"}, step}).state);
}

// Module.to hands a function of its own to _apply, which is what is looked for.
TEST(FactsOfStacks, AModuleThatIsMovedIsConstructed) {
  const StackFacts facts = FactsOf({{"/x/site-packages/torch/nn/modules/module.py", 1365, "convert"},
                                    {"/x/site-packages/torch/nn/modules/module.py", 930, "_apply"},
                                    {"/home/me/train.py", 12, "<module>"}});
  EXPECT_EQ(facts.made_by, MadeBy::kConstructor);
}

}  // namespace
}  // namespace onnx_mem
