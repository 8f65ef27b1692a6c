#include "solver/methods/chain.h"

#include "gtest/gtest.h"
#include "tests/solver/chain_graph.h"
#include "tests/solver/graph_builder.h"

namespace onnx_mem {
namespace {

TEST(ChainTest, NumbersOfAnExtractedChainAreThoseOfItsArrays) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const ChainArrays arrays = RandomChain(1 + trial % 9, random);
    const StepGraph graph = GraphOfChain(arrays);
    const auto extracted = ExtractChain(graph, BuildStages(graph));
    const Chain given = ChainOf(arrays);
    ASSERT_TRUE(extracted.has_value());
    ASSERT_EQ(extracted->size(), given.size());
    for (int l = 0; l < given.size(); ++l) {
      const ChainBlock& block = extracted->blocks[l];
      EXPECT_EQ(block.gap_bytes, given.blocks[l].gap_bytes);
      if (l + 1 < given.size()) {  // the last block never runs without saving
        EXPECT_EQ(block.output_bytes, given.blocks[l].output_bytes);
        EXPECT_EQ(block.run_bytes, given.blocks[l].run_bytes);
        EXPECT_EQ(block.run_cost, given.blocks[l].run_cost);
      }
      EXPECT_EQ(block.savings[0].saved_bytes, given.blocks[l].savings[0].saved_bytes);
      EXPECT_EQ(block.savings[0].forward_bytes, given.blocks[l].savings[0].forward_bytes);
      EXPECT_EQ(block.savings[0].backward_bytes, given.blocks[l].savings[0].backward_bytes);
    }
  }
}

// x -> F0 -> a -> F1 -> b -> F2(a, b) -> c -> F3 -> loss: the skip from a to F2 makes F1 and F2 one block.
TEST(ChainTest, ASkipConnectionMakesOneBlock) {
  GraphBuilder builder;
  const auto x = builder.Input();
  const auto a = builder.Activation(10), b = builder.Activation(20), c = builder.Activation(10);
  const auto loss = builder.Activation(1);
  const auto da = builder.Gradient(10), db = builder.Gradient(20), dc = builder.Gradient(10);
  builder.Forward(1, {{x}}, {a});
  builder.Forward(2, {{a}}, {b});
  builder.Forward(3, {{a}, {b}}, {c});
  builder.Forward(4, {{c}}, {loss});
  builder.Backward(4, {{c}, {loss}}, {dc});
  builder.Backward(3, {{dc}, {b}}, {da, db});
  builder.Backward(2, {{db}, {a}}, {da});
  builder.Backward(1, {{da}, {x}}, {});
  ASSERT_TRUE(VerifyStepGraph(builder.graph).ok());
  const auto chain = ExtractChain(builder.graph, BuildStages(builder.graph));
  ASSERT_TRUE(chain.has_value());
  ASSERT_EQ(chain->size(), 3);
  EXPECT_EQ(chain->blocks[0].run, OpSequence({StepOpId(0)}));
  EXPECT_EQ(chain->blocks[1].run, OpSequence({StepOpId(1), StepOpId(2)}));
  EXPECT_EQ(chain->blocks[1].run_bytes, 30);
  EXPECT_EQ(chain->blocks[1].savings[0].saved_bytes, 30);  // b for the backward, c for what follows
  EXPECT_EQ(chain->blocks[2].savings[0].backward, OpSequence({StepOpId(4)}));
}

TEST(ChainTest, GraphsWithoutABackwardAreNoChains) {
  GraphBuilder builder;
  const auto a = builder.Activation(10), b = builder.Activation(20);
  builder.Ordered(1, {}, {a});
  builder.Ordered(2, {{a}}, {b});
  EXPECT_FALSE(ExtractChain(builder.graph, BuildStages(builder.graph)).has_value());
}

TEST(ChainTest, JoinedBlocksDoTheSameWork) {
  std::mt19937 random(5);
  const Chain chain = ChainOf(RandomChain(20, random));
  const Chain joined = JoinBlocks(chain, 6);
  ASSERT_EQ(joined.size(), 6);
  int64_t cost = 0, joined_cost = 0, saved = 0, joined_saved = 0;
  for (const ChainBlock& block : chain.blocks) cost += block.run_cost, saved += block.savings[0].saved_bytes;
  for (const ChainBlock& block : joined.blocks) {
    joined_cost += block.run_cost;
    joined_saved += block.savings[0].saved_bytes;
  }
  EXPECT_EQ(joined_cost, cost);
  EXPECT_EQ(joined_saved, saved);
  EXPECT_EQ(joined.blocks.back().output_bytes, chain.blocks.back().output_bytes);
  EXPECT_EQ(joined.blocks.back().gap_bytes, chain.blocks.back().gap_bytes);
}

}  // namespace
}  // namespace onnx_mem
