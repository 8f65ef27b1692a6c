// Sizes that an error text proposes for dimensions without one: the graph accepts them.
#include "analyzer/onnx/build/propose_sizes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/build/import.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// One attention over a cache. `total`: what the mask calls its length; `cache`: dimensions of what was cached.
std::string Decoder(std::string_view total, std::string_view cache) {
  return absl::StrCat(
      "g (int64[batch, seq] input_ids, int64[batch, ", std::string(total), "] attention_mask, float[",
      std::string(cache), "] past_key_values_0_key) => (float[batch, 2, seq, total] y)",
      R"( <float[50, 16] table = ["location": "none"], int64[4] heads = {0, 0, 2, 8}, int64[2] between = {1, 2}>
      { x = Gather(table, input_ids)
        h = Reshape(x, heads)
        q = Transpose<perm = [0, 2, 1, 3]>(h)
        k = Concat<axis = 2>(past_key_values_0_key, q)
        t = Transpose<perm = [0, 1, 3, 2]>(k)
        s = MatMul(q, t)
        w = Cast<to = 1>(attention_mask)
        m = Unsqueeze(w, between)
        y = Add(s, m) })");
}

// The options that the error text proposes; that they work is checked.
std::string Proposed(const std::string& text, const Bindings& bindings) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(ModelBytes(text), "m.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  const Diagnostic error = DiagnosticOf(file->Import(bindings).status());
  if (error.code != Code::kUnboundDim) return std::string(NameOf(error.code));
  const absl::StatusOr<Bindings> sizes = file->WithSizes(bindings);
  EXPECT_TRUE(sizes.ok()) << sizes.status();
  const absl::StatusOr<ImportedModel> imported = file->Import(*sizes);
  EXPECT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(error.details.back(), absl::StrCat("try: ... ", OptionsText(bindings, *sizes)));
  return OptionsText(bindings, *sizes);
}

TEST(ProposeSizes, TheMaskOfADecoderSpansCacheAndNewTokens) {
  EXPECT_EQ(Proposed(Decoder("total", "batch, 2, past, 8"), {}), "--dim past=496 --dim seq=16 --dim total=512");
  EXPECT_EQ(Proposed(Decoder("\"past + seq\"", "batch, 2, past, 8"), {}), "--dim past=496 --dim seq=16");
}

TEST(ProposeSizes, WhatTheUserGaveIsKept) {
  EXPECT_EQ(Proposed(Decoder("total", "batch, 2, past, 8"), {.batch = 4, .dims = {{"past", 100}}}),
            "--dim seq=16 --dim total=116");
  EXPECT_EQ(Proposed(Decoder("total", "batch, 2, past, 8"), {.dims = {{"seq", 1}}}), "--dim past=496 --dim total=497");
}

TEST(ProposeSizes, ACacheMayBeEmpty) {
  EXPECT_EQ(Proposed(Decoder("total", "batch, 2, past, 8"), {.dims = {{"past", 0}}}), "--dim seq=512 --dim total=512");
}

TEST(ProposeSizes, HeadsAndTheirSizeAreThoseOfWhatIsAppended) {
  EXPECT_EQ(Proposed(Decoder("total", "batch, heads, past, head_size"), {}),
            "--dim head_size=8 --dim heads=2 --dim past=496 --dim seq=16 --dim total=512");
}

TEST(ProposeSizes, NamesOfTheExportersMakingDoAsWell) {
  EXPECT_EQ(Proposed(Decoder("s53", "batch, 2, s15, 8"), {}), "--dim s15=496 --dim s53=512 --dim seq=16");
}

TEST(ProposeSizes, ALengthIsWhatTheGraphHasPositionsFor) {
  EXPECT_EQ(Proposed(R"(g (int64[batch, seq] x) => (float[batch, seq, 4] y)
      <float[50, 4] table = ["location": "none"], float[1, 77, 4] p = ["location": "none"], int64[1] zero = {0},
       int64[1] one = {1}>
      { e = Gather(table, x)  length = Shape<start = 1, end = 2>(x)  q = Slice(p, zero, length, one)
        y = Add(e, q) })",
                     {}),
            "--dim seq=64");
}

TEST(ProposeSizes, DimensionsWithoutANameTakeTheWholeShape) {
  EXPECT_EQ(Proposed("g (float[?, 3, ?, ?] x) => (float[?, 3, ?, ?] y) { y = Relu(x) }", {.batch = 2}),
            "--input x=2x3x224x224");
}

TEST(ProposeSizes, WordsOfAShellAreQuoted) {
  Bindings more;
  more.dims["a b'c"] = 4;
  EXPECT_EQ(OptionsText({}, more), "--dim 'a b'\\''c=4'");
}

}  // namespace
}  // namespace onnx_mem
