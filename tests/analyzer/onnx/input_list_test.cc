#include "analyzer/onnx/sizes/input_list.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

DeclaredInput Input(std::string name, std::vector<std::string> symbols) {
  DeclaredInput input{.name = std::move(name), .dtype = DType::kFloat32, .has_rank = true, .dims = {}};
  for (std::string& symbol : symbols) input.dims.push_back({.size = std::nullopt, .symbol = std::move(symbol)});
  return input;
}

TEST(InputList, FoldsCachesOfAllLayers) {
  std::vector<DeclaredInput> inputs = {Input("input_ids", {"batch", "seq"}), Input("position_ids", {"batch", "seq"})};
  for (int i = 0; i < 32; ++i) {
    for (const char* half : {"key", "value"}) {
      inputs.push_back(Input(absl::StrCat("past_key_values.", i, ".", half), {"batch", "past"}));
    }
  }
  EXPECT_EQ(InputList(inputs),
            "input_ids  float32 [batch, seq]      position_ids  float32 [batch, seq]      "
            "past_key_values.{0..31}.{key,value}  float32 [batch, past]");
}

TEST(InputList, KeepsApartWhatDiffersInMoreThanANumber) {
  EXPECT_EQ(InputList({Input("k0", {"n"}), Input("k1", {"m"})}), "k0  float32 [n]      k1  float32 [m]");
  EXPECT_EQ(InputList({Input("k0", {"n"}), Input("k2", {"n"})}), "k0  float32 [n]      k2  float32 [n]")
      << "1 is missing";
  EXPECT_EQ(InputList({Input("k2", {"n"}), Input("k0", {"n"}), Input("k1", {"n"})}), "k{0..2}  float32 [n]");
}

}  // namespace
}  // namespace onnx_mem
