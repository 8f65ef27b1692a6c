#include "report/parts/layers.h"

#include <gtest/gtest.h>

#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

std::vector<LayerShare> Layered(const RunFigures& figures) {
  return BytesByLayer(figures, Modules(SampleAnalysis().parameters));
}

using Layers = std::vector<LayerShare>;

RunFigures FiguresWith(const std::vector<std::pair<std::string, int64_t>>& modules) {
  MemoryProgram program;
  program.steps.Add(SampleStep("convolution", "", Phase::kForward, 0));
  for (const auto& [module, bytes] : modules) {
    program.buffers.Add(SampleBuffer("t", Category::kSavedActivations, bytes, 0, 1, module));
  }
  return FiguresOf(std::move(program));
}

TEST(BytesByLayer, StaysAtTheTopWhereThatTellsEnough) {
  EXPECT_EQ(Layered(FiguresWith({{"layer1.0.conv1", 20}, {"layer1.1", 10}, {"layer2", 25}, {"fc", 22}, {"", 1}})),
            (Layers{{"layer1", 30}, {"layer2", 25}, {"fc", 22}, {"(no module)", 1}}));
}

TEST(BytesByLayer, OpensWhatHoldsMoreThanTwoFifths) {
  EXPECT_EQ(Layered(FiguresWith({{"transformer.wte", 20},
                                 {"transformer.h.0.attn", 20},
                                 {"transformer.h.1.attn", 25},
                                 {"transformer.h.1.mlp", 5},
                                 {"transformer.h.2.mlp", 20},
                                 {"lm_head", 10}})),
            (Layers{{"transformer.h.1", 30},
                    {"transformer.wte", 20},
                    {"transformer.h.0", 20},
                    {"transformer.h.2", 20},
                    {"lm_head", 10}}));
}

TEST(BytesByLayer, KeepsWhatAModuleHoldsItselfApart) {
  EXPECT_EQ(Layered(FiguresWith({{"h", 60}, {"h.0", 30}})), (Layers{{"h", 60}, {"h.0", 30}}));
}

TEST(BytesByLayer, TakesBuffersOfThePeakOnly) {
  EXPECT_EQ(Layered(SampleTraining()), (Layers{{"a.conv", 2600}, {"a.relu", 1000}, {"(no module)", 304}}));
}

TEST(FoldRepeats, TellsBlocksThatHoldTheSameAsOne) {
  EXPECT_EQ(FoldRepeats({{"h.1", 100}, {"h.0", 100}, {"wte", 150}, {"h.2", 101}, {"h.3", 40}, {"h.5", 100}}),
            (Layers{{"h.0-2", 301}, {"wte", 150}, {"h.5", 100}, {"h.3", 40}}));
}

TEST(BytesByLayer, EmptyProgram) { EXPECT_TRUE(Layered(RunFigures()).empty()); }

}  // namespace
}  // namespace onnx_mem
