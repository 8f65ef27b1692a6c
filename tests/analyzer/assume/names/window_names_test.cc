// Names of window attention and of what modules hand back beside their result.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

using Program = LoweredProgram;
using Nodes = std::pair<int32_t, int32_t>;

// One block of a Swin Transformer on tokens (2, 16, 4), or on an image that is no view of tokens.
struct Block {
  TensorId shortcut, image, windows, attended, sum;
};

Block RunBlock(Program& p, bool on_tokens) {
  Block b;
  b.shortcut = p.Run("conv", {p.input()}, "b > b.cpe", {2, 16, 4});                                        // 0
  TensorId x = p.Run("layer_norm", {b.shortcut}, "b > b.norm1", {2, 16, 4});                               // 1
  x = p.Run(on_tokens ? "reshape" : "conv", {x}, on_tokens ? "b" : "b > b.conv", {2, 4, 4, 4});            // 2
  b.image = p.Run("pad", {x}, "b", {2, 4, 4, 4});                                                          // 3
  x = p.Run("reshape", {b.image}, "b", {2, 2, 2, 2, 2, 4});                                                // 4
  x = p.Run("permute", {x}, "b", {2, 2, 2, 2, 2, 4});                                                      // 5
  x = p.Run("reshape", {x}, "b", {8, 2, 2, 4});                                                            // 6
  b.windows = p.Run("reshape", {x}, "b", {8, 4, 4});                                                       // 7
  b.attended = p.Run("linear", {b.windows}, "b > b.attn", {8, 4, 4});                                      // 8
  x = p.Run("reshape", {b.attended}, "b", {2, 2, 2, 2, 2, 4});                                             // 9
  x = p.Run("permute", {x}, "b", {2, 2, 2, 2, 2, 4});                                                      // 10
  x = p.Run("reshape", {x}, "b", {2, 16, 4});                                                              // 11
  b.sum = p.Run("add", {b.shortcut, x}, "b", {2, 16, 4});                                                  // 12
  const TensorId y = p.Run("linear", {b.sum}, "b > b.mlp", {2, 16, 4});                                    // 13
  p.Run("add", {b.sum, y}, "b", {2, 16, 4});                                                               // 14
  return b;
}

TEST(WindowNames, AForwardOnTokensHoldsItsWindowsUntilItReturns) {
  Program p;
  const Block b = RunBlock(p, true);
  p.Run("linear", {b.sum}, "last");  // 15
  EXPECT_EQ(p.Release(b.windows), Nodes(14, 8));
  EXPECT_EQ(p.Release(b.attended), Nodes(14, 9));
  EXPECT_EQ(p.Release(b.shortcut), Nodes(14, 12));
  EXPECT_EQ(p.Release(b.image), Nodes(11, 4)) << "x = window_reverse(...) takes the name over";
}

TEST(WindowNames, AMethodOnImagesHoldsThemUntilTheyAreReversed) {
  Program p;
  const Block b = RunBlock(p, false);
  p.Run("linear", {b.sum}, "last");
  EXPECT_EQ(p.Release(b.windows), Nodes(11, 8));
  EXPECT_EQ(p.Release(b.attended), Nodes(11, 9));
  EXPECT_EQ(p.Release(b.image), Nodes(11, 4));
}

TEST(WindowNames, DynamosOptimizerJoinsTheLastTwoViews) {
  for (const bool is_dynamo : {true, false}) {
    Program p;
    const TensorId x = p.Run("conv", {p.input()}, "b > b.conv", {2, 4, 4, 4});              // 0
    const TensorId six = p.Run("reshape", {x}, "b", {2, 2, 2, 2, 2, 4});                    // 1
    const TensorId swapped = p.Run("permute", {six}, "b", {2, 2, 2, 2, 2, 4});              // 2
    const TensorId windows = p.Run("reshape", {swapped}, "b", {8, 4, 4});                   // 3
    if (is_dynamo) p.SayFrameworkOp(windows, "view#view_1");
    const TensorId attended = p.Run("linear", {windows}, "b > b.attn", {8, 4, 4});          // 4
    const TensorId whole = p.Run("reshape", {attended}, "b", {2, 4, 4, 4});                 // 5
    const TensorId norm = p.Run("layer_norm", {whole}, "b > b.norm", {2, 4, 4, 4});         // 6
    p.Run("linear", {norm}, "last");                                                        // 7
    EXPECT_EQ(p.Release(x), is_dynamo ? Nodes(5, 1) : Nodes(1, 1));
  }
}

TEST(KeptResults,
     AnEncodersResultIsHeldWithTheModelsOutput) {  // outputs = self.model(ids); return self.head(outputs[0])
  Program p;
  const auto call = [](std::string_view part, int layer, std::string_view leaf) {
    const std::string stack = "m > m.model > m.model." + std::string(part);
    const std::string name = "m.model." + std::string(part) + ".layers." + std::to_string(layer);
    return stack + " > " + name + " > " + name + "." + std::string(leaf);
  };
  const auto embed = [&](std::string_view part) {
    const std::string stack = "m.model." + std::string(part);
    return p.Run("embedding", {p.input()}, "m > m.model > " + stack + " > " + stack + ".embed");
  };
  TensorId memory = embed("encoder");                                                    // 0
  for (int layer : {0, 1}) memory = p.Run("linear", {memory}, call("encoder", layer, "fc"));   // 1, 2
  TensorId x = embed("decoder");                                                         // 3
  for (int layer : {0, 1}) x = p.Run("mul", {x, memory}, call("decoder", layer, "cross"));     // 4, 5
  const TensorId logits = p.Run("linear", {x}, "m > m.head");                            // 6
  p.Run("add", {logits, p.input()}, "m");                                                // 7
  p.Run("linear", {logits}, "last");                                                     // 8
  EXPECT_EQ(p.Release(memory).first, 7) << "the head's forward returns";
}

// shifted = torch.roll(x); ...; shifted_windows = window_reverse(...); attention_windows = torch.roll(shifted_windows);
// x = self.norm(attention_windows): transformers' Swin V2 names them all, and hands no weights back.
TEST(WindowNames, TransformersNamesWhatItShifts) {
  for (const bool is_transformers : {true, false}) {
    Program p;
    const std::string attention =
        is_transformers ? "b > b.attention > b.attention.self" : "b > b.attn > b.attn.qkv";
    const TensorId tokens = p.Run("linear", {p.input()}, "b > b.first", {2, 16, 4});
    const TensorId map = p.Run("reshape", {tokens}, "b", {2, 4, 4, 4});
    const TensorId shifted = p.Run("roll", {map}, "b", {2, 4, 4, 4});
    TensorId x = p.Run("reshape", {shifted}, "b", {2, 2, 2, 2, 2, 4});
    x = p.Run("permute", {x}, "b", {2, 2, 2, 2, 2, 4});
    x = p.Run("reshape", {x}, "b", {8, 2, 2, 4});
    const TensorId windows = p.Run("reshape", {x}, "b", {8, 4, 4});
    const TensorId attended = p.Run("linear", {windows}, attention, {8, 4, 4});
    x = p.Run("reshape", {attended}, "b", {2, 2, 2, 2, 2, 4});
    x = p.Run("permute", {x}, "b", {2, 2, 2, 2, 2, 4});
    const TensorId whole = p.Run("reshape", {x}, "b", {2, 4, 4, 4});
    const TensorId back = p.Run("roll", {whole}, "b", {2, 4, 4, 4});
    const int32_t reversed = p.last();
    const TensorId norm = p.Run("layer_norm", {back}, "b > b.norm", {2, 4, 4, 4});
    p.Run("linear", {norm}, "b > b.mlp");
    const int32_t end = p.last();
    p.Run("linear", {p.input()}, "last");
    EXPECT_EQ(p.Release(shifted).first, is_transformers ? end : reversed);
    if (is_transformers) {
      EXPECT_EQ(p.Release(whole).first, end);
      EXPECT_EQ(p.Release(back).first, end);
    }
  }
}

}  // namespace
}  // namespace onnx_mem::names
