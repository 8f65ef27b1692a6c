// The rows of ops.inc against the tables that know operators by name: each has a row for every name of the others.
#include "analyzer/ops/ops.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analyzer/eager/engine/op_table.h"
#include "analyzer/graph/op_name.h"
#include "analyzer/lower/operators/table.h"
#include "analyzer/record/aten/table.h"

namespace onnx_mem {
namespace {

TEST(OpFacts, AreOfTheOperatorsThatEagerEnacts) {
  std::set<std::string_view> enacted, known;
  for (const eager::OpRow* row : eager::AllOps()) enacted.insert(row->name);
  for (const OpFacts& op : AllOpFacts()) known.insert(op.name);
  EXPECT_EQ(enacted, known);
}

TEST(OpFacts, AreOfWhatLoweringMakes) {
  for (const TableRow& row : AllRows()) {
    if (row.framework.empty()) continue;
    EXPECT_EQ(FactsOf(row.framework).name, row.framework) << row.onnx;
  }
}

TEST(OpFacts, AreOfWhatRecordsAreReadAs) {
  for (const record::AtenRow& row : record::AllAtenRows()) {
    EXPECT_EQ(FactsOf(row.op).name, row.op) << row.aten;
  }
}

TEST(OpFacts, ComeWithTheName) {
  const OpName conv("conv"), onnx("Conv"), none;
  EXPECT_TRUE(IsConvolution(conv));
  EXPECT_FALSE(IsConvolution(onnx));
  EXPECT_EQ(static_cast<const OpFacts&>(onnx).family, OpFamily::kNone);
  EXPECT_EQ(static_cast<const OpFacts&>(none).name, "");
  for (const OpFacts& op : AllOpFacts()) EXPECT_EQ(&static_cast<const OpFacts&>(OpName(op.name)), &op);
}

TEST(OpFacts, AgreeWithEachOther) {
  for (const OpFacts& op : AllOpFacts()) {
    EXPECT_NE(op.family, OpFamily::kNone) << op.name;
    EXPECT_FALSE(IsWholeView(op) && op.HasAny(op_trait::kPiece)) << op.name << " views all, or some";
    EXPECT_FALSE(IsView(op) && SavesResult(op)) << op.name << ": a view makes nothing that could be saved";
    EXPECT_TRUE(!IsLinear(op) || IsProduct(op)) << op.name;
    EXPECT_TRUE(!IsNorm(op) || op.family == OpFamily::kNorm) << op.name;
    EXPECT_TRUE(!ActivatesNormInPlace(op) || (IsActivation(op) && HasInPlaceForm(op))) << op.name;
    // What overwrites its input keeps its result instead: it has a form that does.
    EXPECT_TRUE(!SavesResultInPlaceAlone(op) || (SavesInput(op) && IsInPlaceFunction(op))) << op.name;
  }
}

}  // namespace
}  // namespace onnx_mem
