// What stays alive though nothing reads it any more: attention weights, key and value caches, embeddings.
#include "analyzer/assume/names/kept_results.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

struct Attention {
  TensorId weights;
  int32_t product = 0;  // node that reads them
  int32_t layer_end = 0;
};

// One layer: attention in a module of its own, then a feed-forward layer. softmax(q k^T * scale) v.
Attention RunLayer(LoweredProgram& p, bool scale_after_product, std::string dropout, int number = 0) {
  const std::string layer = absl::StrCat("layers.", number), attn = absl::StrCat(layer, " > ", layer, ".attn");
  const TensorId q = p.Run("linear", {p.input()}, absl::StrCat(attn, " > ", layer, ".attn.q"));
  const TensorId scaled = scale_after_product ? q : p.Run("mul_scalar", {q}, attn);
  TensorId scores = p.Run("bmm", {scaled, q}, attn);
  if (scale_after_product) scores = p.Run("mul_scalar", {scores}, attn);
  Attention result;
  result.weights = p.Run("softmax", {scores}, attn);
  if (!dropout.empty()) p.Say(result.weights, "dropout", dropout);
  const TensorId mixed = p.Run("bmm", {result.weights, q}, attn);
  result.product = p.last();
  const TensorId wide = p.Run("linear", {mixed}, absl::StrCat(layer, " > ", layer, ".up"));
  p.Run("gelu", {wide}, absl::StrCat(layer, " > ", layer, ".act"));
  result.layer_end = p.last();
  return result;
}

TEST(KeptResults, TheLayerHoldsWeightsThatAttentionHandsBack) {  // x, _ = self.attn(x); x = self.act(self.up(x))
  LoweredProgram p;
  const Attention attention = RunLayer(p, /*scale_after_product=*/true, "function");
  EXPECT_EQ(p.Release(attention.weights), std::make_pair(attention.layer_end, attention.product));
}

TEST(KeptResults,
     InTrainingTheDroppedWeightsAreHandedBack) {  // weights = F.dropout(weights); return weights @ v, weights
  LoweredProgram p;
  const std::string attn = "layers.0 > layers.0.attn";
  const TensorId scores = p.Run("mul_scalar", {p.Run("bmm", {p.input(), p.input()}, attn)}, attn);
  const TensorId weights = p.Run("softmax", {scores}, attn);
  p.Say(weights, "dropout", std::string("function"));
  const TensorId dropped = p.Run("dropout", {weights}, attn);
  const TensorId mixed = p.Run("bmm", {dropped, p.input()}, attn);
  p.Run("linear", {mixed}, "layers.0 > layers.0.up");
  p.Run("gelu", {p.input()}, "layers.0 > layers.0.act");
  EXPECT_EQ(p.Release(dropped).first, p.last());
  EXPECT_EQ(p.Release(weights).first, 3) << "the function's own name for them is gone when it returns";
}

TEST(KeptResults, WhereSourceLinesTellNamesWeightsMayBeHandedBackButAreNotLikely) {
  LoweredProgram p;
  const Attention attention = RunLayer(p, /*scale_after_product=*/true, "function");
  p.OnLines(attention.weights, {"x = self.layers(x)"});
  EXPECT_LT(p.Release(attention.weights).first, attention.layer_end);
  EXPECT_GE(p.ReleaseAtMost(attention.weights), attention.layer_end);
}

// for layer in self.layers: outputs = layer(x); x = outputs[0]
TEST(KeptResults, WhatALayerHandsBackMayBeTheCallersUntilTheNextLayerReturns) {
  for (const std::string dropout : {"function", "module"}) {
    LoweredProgram p;
    const Attention first = RunLayer(p, /*scale_after_product=*/true, dropout, 0);
    const Attention second = RunLayer(p, /*scale_after_product=*/true, dropout, 1);
    p.Run("linear", {p.input()}, "head");
    EXPECT_EQ(p.ReleaseAtMost(first.weights), second.layer_end);
    EXPECT_EQ(p.ReleaseAtMost(second.weights), p.last()) << "no layer takes the name again";
    EXPECT_EQ(p.Release(first.weights).first, dropout == "module" ? first.product : first.layer_end);
  }
}

TEST(KeptResults, TheNextAttentionTakesOverTheName) {  // x, _ = self.attn(x); x, _ = self.cross(x); x = self.up(x)
  LoweredProgram p;
  const auto attend = [&](TensorId x, const std::string& calls) {
    const TensorId scores = p.Run("mul_scalar", {p.Run("bmm", {x, x}, calls)}, calls);
    const TensorId weights = p.Run("softmax", {scores}, calls);
    return std::make_pair(weights, p.Run("bmm", {weights, x}, calls));
  };
  const auto [first, x] = attend(p.input(), "layers.0 > layers.0.attn");
  const auto [second, y] = attend(x, "layers.0 > layers.0.cross");
  const int32_t end_of_cross = p.last();
  p.Run("linear", {y}, "layers.0 > layers.0.up");
  EXPECT_EQ(p.Release(first).first, end_of_cross);
  EXPECT_EQ(p.Release(second).first, p.last());
}

TEST(KeptResults, WeightsThatAModuleDropsStayInside) {  // attn = self.attn_drop(attn); x = attn @ v
  LoweredProgram p;
  const Attention attention = RunLayer(p, /*scale_after_product=*/true, "module");
  EXPECT_EQ(p.Release(attention.weights).first, attention.product);
}

TEST(KeptResults, CodeThatScalesTheQueryHandsNoWeightsBack) {  // q = q * self.scale; attn = q @ k.transpose(-2, -1)
  LoweredProgram p;
  const Attention attention = RunLayer(p, /*scale_after_product=*/false, "");
  EXPECT_EQ(p.Release(attention.weights).first, attention.product);
}

TEST(KeptResults, WhatEntersTheFirstLayerHasANameOfItsOwn) {  // h = e = self.embed(x); for l in self.layers: h = l(h)
  LoweredProgram p;
  const TensorId embedded = p.Run("conv", {p.input()}, "vit > vit.embed");
  const TensorId first = p.Run("linear", {embedded}, "vit > vit.layers.0 > vit.layers.0.fc");
  const TensorId second = p.Run("linear", {first}, "vit > vit.layers.1 > vit.layers.1.fc");
  p.Run("layer_norm", {second}, "vit > vit.norm");
  p.Run("linear", {second}, "head");
  EXPECT_EQ(p.Release(embedded), std::make_pair(3, 1)) << "until the base model returns";
  EXPECT_EQ(p.Release(first).first, 2) << "the loop's own name goes on";
}

// h = embeds + self.positions(ids); for layer in self.layers: h = layer(h)
TEST(KeptResults, TermsOfThePositionedInputHaveNamesTheSumContinues) {
  LoweredProgram p;
  const TensorId embeds = p.Run("conv", {p.input()}, "m > m.conv");                    // 0
  const TensorId positions = p.Run("embedding", {p.input()}, "m > m.positions");       // 1
  const TensorId sum = p.Run("add", {embeds, positions}, "m");                         // 2
  const TensorId first = p.Run("linear", {sum}, "m > m.layers.0 > m.layers.0.fc");     // 3
  const TensorId second = p.Run("linear", {first}, "m > m.layers.1 > m.layers.1.fc");  // 4
  p.Run("layer_norm", {second}, "m > m.norm");                                         // 5
  p.Run("linear", {second}, "head");                                                   // 6
  EXPECT_EQ(p.Release(embeds), std::make_pair(5, 2));
  EXPECT_EQ(p.Release(sum).first, 3);
}

TEST(KeptResults, PositionsThatAnExporterFoldedAreStillLookedUp) {  // h = embeds + self.positions(ids)
  for (const bool is_folded : {true, false}) {
    LoweredProgram p;
    const TensorId embeds = p.Run("conv", {p.input()}, "m > m.conv");  // 0
    const TensorId positions = p.Stored(is_folded ? "onnx::Add_12" : "m.pos_embed");
    const TensorId sum = p.Run("add", {embeds, positions}, "m");                         // 1
    const TensorId first = p.Run("linear", {sum}, "m > m.layers.0 > m.layers.0.fc");     // 2
    const TensorId second = p.Run("linear", {first}, "m > m.layers.1 > m.layers.1.fc");  // 3
    p.Run("layer_norm", {second}, "m > m.norm");                                         // 4
    p.Run("linear", {second}, "head");                                                   // 5
    EXPECT_EQ(p.Release(embeds).first, is_folded ? 4 : 1) << "x = x + self.pos_embed takes the name over";
  }
}

TEST(KeptResults, AStageNamesItsInputAsItsLoopDoes) {  // h = self.embed(h); for block in self.blocks: h = block(h)
  for (const bool is_stage : {true, false}) {
    LoweredProgram p;
    const std::string name = is_stage ? "stages.0" : "model";
    const auto in = [&](std::string_view inner) { return name + " > " + name + "." + std::string(inner); };
    const TensorId h = p.Run("conv", {p.input()}, in("embed"));                          // 0
    const TensorId a = p.Run("linear", {h}, in("blocks.0 > ") + name + ".blocks.0.fc");  // 1
    const TensorId b = p.Run("linear", {a}, in("blocks.1 > ") + name + ".blocks.1.fc");  // 2
    p.Run("layer_norm", {b}, in("norm"));                                                // 3
    p.Run("linear", {b}, "head");                                                        // 4
    EXPECT_EQ(p.Release(h).first, is_stage ? 1 : 3);
  }
}

TEST(KeptResults, AHeadKeepsTheOutputOfItsBaseModel) {  // outputs = self.bert(ids); x = self.transform(outputs[0]); ...
  LoweredProgram p;
  const TensorId embedded = p.Run("embedding", {p.input()}, "bert > bert.embed");             // 0
  const TensorId x = p.Run("linear", {embedded}, "bert > bert.layers.0 > bert.layers.0.fc");  // 1
  const TensorId hidden = p.Run("layer_norm", {x}, "bert > bert.norm");                       // 2
  const TensorId y = p.Run("linear", {hidden}, "transform");                                  // 3
  const TensorId z = p.Run("layer_norm", {y}, "norm");                                        // 4
  p.Run("linear", {z}, "vocabulary");                                                         // 5
  EXPECT_EQ(p.Release(hidden), std::make_pair(5, 3));
  EXPECT_EQ(p.Release(y).first, 4) << "the head's own results take over names";
}

TEST(KeptResults, InTheModelsOwnForwardTheNameContinues) {  // x = self.embed(x); for l in self.layers: x = l(x)
  LoweredProgram p;
  const TensorId embedded = p.Run("conv", {p.input()}, "embed");
  const TensorId first = p.Run("linear", {embedded}, "layers.0 > layers.0.fc");
  p.Run("linear", {first}, "layers.1 > layers.1.fc");
  EXPECT_EQ(p.Release(embedded).first, 1);
}

TEST(KeptResults, AModuleHoldsTheWeightThatItsHookMade) {  // torch.nn.utils.weight_norm(conv), then another layer
  for (const bool hook : {true, false}) {
    LoweredProgram p;
    const TensorId v = p.Stored(hook ? "c.weight_v" : "c.parametrizations.weight.original1");
    const TensorId g = p.Stored(hook ? "c.weight_g" : "c.parametrizations.weight.original0");
    const TensorId weight = p.Run("weight_norm", {v, g}, "c");            // 0
    const TensorId x = p.Run("conv", {p.input(), weight}, "c > c.conv");  // 1
    p.Run("relu", {x}, "");                                               // 2
    EXPECT_EQ(p.Release(weight).first, hook ? 3 : 1);
  }
}

// softmax(q k^T * scale + biases[:, positions]): LeViT's own code, which hands nothing back.
TEST(KeptResults, BiasesLookedUpInTheAttentionAreOfCodeOfItsOwn) {
  LoweredProgram p;
  const std::string attn = "layers.0 > layers.0.attn";
  const TensorId scores = p.Run("mul_scalar", {p.Run("bmm", {p.input(), p.input()}, attn)}, attn);
  const TensorId bias = p.Run("index", {p.Stored("biases"), p.Stored("positions")}, attn);
  const TensorId weights = p.Run("softmax", {p.Run("add", {scores, bias}, attn)}, attn);
  p.Run("bmm", {weights, p.input()}, attn);
  const int32_t attention_end = p.last();
  p.Run("linear", {p.input()}, "layers.0 > layers.0.up");
  EXPECT_EQ(p.Release(weights).first, attention_end);
}

}  // namespace
}  // namespace onnx_mem::names
