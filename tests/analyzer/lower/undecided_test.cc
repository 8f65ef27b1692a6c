// What a lowered model leaves open for a range: copies that code may not make, buffers that no operator reads.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "analyzer/assume/choices/copies.h"
#include "analyzer/assume/choices/unread_buffers.h"
#include "analyzer/assume/choices/unread_layers.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

Lowered LoweredBy(std::string_view text, std::string_view signature = "") {
  Graph graph = ParseGraph(text);
  graph.signature = ProgramSignature::Parse(signature);
  absl::StatusOr<Lowered> lowered = Lower(graph, Run());
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return *std::move(lowered);
}

// x.reshape(B, H, W, -1).permute(0, 3, 1, 2), with .contiguous() or without.
TEST(Undecided, TheCopyOfATokenMapMayBeLeftOut) {
  Lowered lowered = LoweredBy(R"(
    input x float32 2x16x8
    const shape int64 4 = 2 4 4 8
    /Reshape = Reshape(x, shape) -> m float32 2x4x4x8
    /Transpose = Transpose(m) -> y float32 2x8x4x4 {perm: [0 3 1 2]}
    /Relu = Relu(y) -> z float32 2x8x4x4
    output z
  )");
  EXPECT_TRUE(Has(DumpLowered(lowered), "contiguous(")) << DumpLowered(lowered);
  EXPECT_TRUE(LeaveOutCopies(lowered));
  EXPECT_FALSE(Has(DumpLowered(lowered), "contiguous(")) << DumpLowered(lowered);
  EXPECT_TRUE(Has(DumpLowered(lowered), "identity(")) << DumpLowered(lowered);
}

TEST(Undecided, NoOtherCopyMay) {
  Lowered lowered = LoweredBy(R"(
    input x float32 2x8
    /Relu = Relu(x) -> y float32 2x8
    output y
  )");
  EXPECT_FALSE(LeaveOutCopies(lowered));
}

constexpr std::string_view kPositions = R"(
    input x float32 2x4x8
    weight table.weight float32 32x8
    const ids int64 1x4 = 0 1 2 3
    /Gather = Gather(table.weight, ids) -> p float32 1x4x8 {axis: 0}
    /Add = Add(x, p) -> y float32 2x4x8
    output y
)";

// A table of 32 positions: register_buffer("position_ids", torch.arange(32)), and a mask of 32 by 32.
TEST(Undecided, BuffersThatNobodyReadsAreAsLongAsTheTableOfPositions) {
  const std::string signature = "# inputs\np_table_weight: PARAMETER target='table.weight'\n";
  const Lowered lowered = LoweredBy(kPositions, signature);
  const ProgramSignature parsed = ProgramSignature::Parse(signature);
  EXPECT_EQ(MostBytesOfBuffers({"position_ids"}, parsed, lowered), 32 * 8);
  EXPECT_EQ(MostBytesOfBuffers({"causal_mask"}, parsed, lowered), 32 * 32 * 4);
  EXPECT_EQ(MostBytesOfBuffers({"position_ids", "scale"}, parsed, lowered), 32 * 8 + 4 * 8) << "as the indices";
  EXPECT_EQ(MostBytesOfBuffers({}, parsed, lowered), 0);
}

// torch_lib writes x[:, self.order] with the order as [8, 1]. Of self.inverse the file has nothing.
TEST(Undecided, AnOrderHasAnInverse) {
  const std::string signature = "# inputs\nb_order: BUFFER target='order' persistent=True\n";
  const Lowered lowered = LoweredBy(R"(
    input x float32 8x4
    const val_3 int64 8x1 = 7 6 5 4 3 2 1 0
    node_index = GatherND(x, val_3) -> y float32 8x4
    output y
  )",
                                    signature);
  EXPECT_EQ(MostBytesOfBuffers({"inverse"}, ProgramSignature::Parse(signature), lowered), 8 * 8);
}

// register_buffer("pe", ...) that forward slices or does not read: a name is all that is left of it.
TEST(Undecided, TablesThatNobodyReadsAreAsWideAsTheModel) {
  const std::string signature = "# inputs\np_table_weight: PARAMETER target='table.weight'\n";
  const Lowered lowered = LoweredBy(kPositions, signature);
  const ProgramSignature parsed = ProgramSignature::Parse(signature);
  constexpr int64_t kTable = 5000 * 8 * 4;
  EXPECT_EQ(MostBytesOfBuffers({"low.pe", "high.pe"}, parsed, lowered), 2 * kTable);
  EXPECT_EQ(MostBytesOfBuffers({"rotary.cached_freqs", "layers.0.rotary.cached_freqs"}, parsed, lowered), kTable)
      << "one module that a layer holds, too";
}

// for i in range(3): y = self.branches[i](x): of the last nothing is read.
TEST(Undecided, LayersThatNothingReadsMayHaveRunLikeTheirKind) {
  const Lowered lowered = LoweredBy(R"(
    input x float32 2x8
    weight branches.0.conv.weight float32 8x16
    /branches.0/conv/MatMul = MatMul(x, branches.0.conv.weight) -> y float32 2x16
    /Relu = Relu(y) -> z float32 2x16
    output z
  )");
  constexpr int64_t kResult = 2 * 16 * 4;
  EXPECT_EQ(MostBytesOfDeadBranches({"branches.2.conv.weight", "branches.2.conv.bias"}, true, lowered), 2 * kResult);
  EXPECT_EQ(MostBytesOfDeadBranches({"branches.1.conv.weight", "branches.2.conv.weight"}, true, lowered), 3 * kResult);
  EXPECT_EQ(MostBytesOfDeadBranches({"branches.1.conv.weight", "branches.2.conv.weight"}, false, lowered), kResult);
  EXPECT_EQ(MostBytesOfDeadBranches({"shortcut.conv.weight"}, true, lowered), 2 * kResult) << "of its last name";
  EXPECT_EQ(MostBytesOfDeadBranches({"branches.0.conv.bias"}, true, lowered), 0) << "it ran";
  EXPECT_EQ(MostBytesOfDeadBranches({"pooler.weight", "scale"}, true, lowered), 0) << "nothing is like it";
}

}  // namespace
}  // namespace onnx_mem
