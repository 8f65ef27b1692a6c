// Copies and caches that no export shows.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// x = x[:, :7, :7, :].contiguous(): the padding of windows is cut off.
constexpr std::string_view kCrop = R"(
    input x float32 2x8x8x4
    const zero int64 1 = 0
    const seven int64 1 = 7
    const one int64 1 = 1
    const two int64 1 = 2
    /b/Slice = Slice(x, zero, seven, one) -> s float32 2x7x8x4
    /b/Slice_1 = Slice(s, zero, seven, two) -> t float32 2x7x7x4
    /b/Sin = Sin(t) -> y float32 2x7x7x4
    output y
)";

TEST(Crop, PaddingIsCutOffIntoACopy) {
  const std::string text = LowerText(kCrop);
  EXPECT_NE(text.find("slice(s) -> t [b]\ncontiguous(t) -> t/contiguous [b]\nsin(t/contiguous) -> y"),
            std::string::npos)
      << text;
}

TEST(Crop, NothingCutOffIsNoCopy) {
  std::string text(kCrop);
  text = absl::StrReplaceAll(text, {{"2x7x7x4", "2x8x8x4"}, {"2x7x8x4", "2x8x8x4"}, {"= 7", "= 8"}});
  EXPECT_EQ(LowerText(text).find("contiguous"), std::string::npos) << LowerText(text);
}

TEST(Crop, OneAxisOfWhatNeverWasWindowsIsASlice) {  // keys[:, :length] of [batch, tokens, heads, channels]
  std::string text(kCrop);
  text.replace(text.find("Sin(t)"), 6, "Sin(s)");
  text = absl::StrReplaceAll(text, {{"-> y float32 2x7x7x4", "-> y float32 2x7x8x4"}});
  EXPECT_EQ(LowerText(text).find("contiguous"), std::string::npos) << LowerText(text);
}

// self.attention_biases[:, self.attention_bias_idxs], kept in evaluation mode.
constexpr std::string_view kBiases = R"(
    input x float32 1x2x3x3
    weight attn.attention_biases float32 2x5
    weight attn.attention_bias_idxs int64 3x3
    /attn/Gather = Gather(attn.attention_biases, attn.attention_bias_idxs) -> bias float32 2x3x3 {axis: 1}
    /attn/Add = Add(x, bias) -> y float32 1x2x3x3
    output y
)";

TEST(BiasCache, EvaluationKeepsWhatItLookedUp) {
  onnx_mem::Run inference;
  inference.training = false;
  const std::string text = LowerText(kBiases, inference, "cached");
  EXPECT_NE(text.find("cached=1"), std::string::npos) << text;
  EXPECT_EQ(LowerText(kBiases, {}, "cached").find("cached=1"), std::string::npos) << "training looks up every time";
}

}  // namespace
}  // namespace onnx_mem
