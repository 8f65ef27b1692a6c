#include "report/analyze/tables.h"

#include <gtest/gtest.h>

#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

// Sum of a column of numbers.
int64_t Sum(const Table& table, std::string_view key) {
  int64_t sum = 0;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].key != key) continue;
    for (const Row& row : table.rows) sum += std::get<int64_t>(row[c]);
  }
  return sum;
}

std::string Text(const Cell& cell) { return std::get<std::string>(cell); }
int64_t Int(const Cell& cell) { return std::get<int64_t>(cell); }

TEST(Tables, BytesAtThePeakSumToThePeak) {
  const Analysis analysis = SampleAnalysis();
  const int64_t peak = analysis.training()->peak_bytes;
  EXPECT_EQ(peak, 3904);
  EXPECT_EQ(Sum(LayerTable(analysis), "peak_bytes"), peak);
  EXPECT_EQ(Sum(OpTable(analysis), "peak_bytes"), peak);
  EXPECT_EQ(Sum(ShapeTable(*analysis.training()), "bytes"), peak);
  EXPECT_EQ(Sum(LiveTable(*analysis.training(), Modules(analysis.parameters), 0), "bytes"), peak);
  EXPECT_EQ(Sum(CategoryTable(analysis), "training_bytes"), peak);
  EXPECT_EQ(Sum(CategoryTable(analysis), "inference_bytes"), analysis.inference()->peak_bytes);
}

TEST(LayerTable, HasParametersSavedBytesAndWork) {
  const Table table = LayerTable(SampleAnalysis());
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0], (Row{std::string("a.conv"), int64_t{100}, int64_t{400}, int64_t{2600}, int64_t{1000},
                                int64_t{2000}, int64_t{1000}}));
  EXPECT_EQ(Text(table.rows[1][0]), "a.relu");
  EXPECT_EQ(Text(table.rows[2][0]), "(no module)");
}

TEST(LayerTable, WithAClockHasTimesAndWhatBoundsThem) {
  Clock clock;
  clock.card.fp32_flops = 1e9;  // a FLOP takes a nanosecond
  clock.card.bandwidth = 1e9;
  clock.card.launch_ns = 100;
  const Table table = LayerTable(SampleAnalysis(), &clock);
  const Analysis analysis = SampleAnalysis();
  EXPECT_EQ(Sum(table, "time_ns"), EstimateTime(*analysis.training()->program, clock.card).step_ns);
  EXPECT_EQ(Int(CellAt(table, table.rows[0], "time_ns")), 6000);  // convolution and its backward
  EXPECT_EQ(Text(CellAt(table, table.rows[0], "bound")), "compute");
}

TEST(OpTable, LabelsWhatNoOperatorMade) {
  const Table table = OpTable(SampleAnalysis());
  bool parameters = false;
  for (const Row& row : table.rows) {
    if (Text(row[0]) == "(parameters)") {
      parameters = true;
      EXPECT_EQ(Int(row[3]), 400);
    }
    if (Text(row[0]) == "convolution_backward") {
      EXPECT_EQ(Int(row[1]), 1);
      EXPECT_EQ(Int(row[2]), 4000);
      EXPECT_EQ(Int(row[3]), 400);  // the gradient of w
    }
  }
  EXPECT_TRUE(parameters);
}

TEST(LiveTable, TellsWhoMadeAndWhoKeepsATensorAndUntilWhen) {
  const Table table = LiveTable(SampleTraining(), Modules({}), 0);
  const Row& y = table.rows[0];
  EXPECT_EQ(Text(y[0]), "y");
  EXPECT_EQ(Text(y[6]), "/a.conv");
  EXPECT_EQ(Text(y[7]), "saved by a.relu");
  EXPECT_EQ(Int(y[8]), 0);
  EXPECT_EQ(Int(y[9]), 5);
  EXPECT_EQ(Text(y[10]), "freed in backward step 5 (convolution_backward)");
  for (const Row& row : table.rows) {
    if (Text(row[0]) == "w") {
      EXPECT_EQ(Text(row[6]), "");
      EXPECT_EQ(Text(row[10]), "alive to the end of the step");
    }
  }
}

TEST(LiveTable, CountsWhatItLeavesOut) {
  const Table table = LiveTable(SampleTraining(), Modules({}), 2);
  EXPECT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.omitted_rows, 5);
  EXPECT_EQ(table.omitted_bytes, 1904);
}

TEST(ShapeTable, GroupsEqualTensorsOfOneCategory) {
  MemoryProgram program;
  program.steps.Add(SampleStep("convolution", "", Phase::kForward, 0));
  for (int i = 0; i < 7; ++i) {
    Buffer buffer = SampleBuffer("w", Category::kParameters, 9437184, 0, 1, "");
    buffer.dims = {512, 512, 3, 3};
    program.buffers.Add(buffer);
  }
  const Table table = ShapeTable(FiguresOf(std::move(program)));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0], (Row{int64_t{7}, Shape({512, 512, 3, 3}), std::string("float32"), int64_t{66060288},
                                std::string("parameters")}));
}

TEST(TensorTable, ListsTheFilesTensorsInOrder) {
  const Analysis analysis = SampleAnalysis();
  const Table table = TensorTable(*analysis.graph, Modules(analysis.parameters), analysis.training()->program.get());
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[0], (Row{std::string("x"), std::string("float32"), Shape({75}), std::string("input"),
                                int64_t{300}, Cell(), std::string(), Cell()}));
  EXPECT_EQ(Text(table.rows[1][6]), "a.conv");  // a parameter's module, and that of the step that ran a node
  EXPECT_EQ(Text(table.rows[2][6]), "a.conv");
  EXPECT_EQ(table.rows[2][4], Cell());  // an unknown size
  EXPECT_EQ(Text(table.rows[3][5]), "node #1 (Relu)");
}

TEST(TopRows, PicksTheLargestOrKeepsTheOrder) {
  Table table{"t", "T", {{"name", "name"}, {"bytes", "bytes", ColumnKind::kBytes}}, {}, 1};
  for (int64_t bytes : {5, 9, 9, 1}) table.rows.push_back({std::string("t"), bytes});
  EXPECT_EQ(TopRows(table, 0), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(TopRows(table, 3), (std::vector<size_t>{1, 2, 0}));
  EXPECT_EQ(TopRows(table, 99), (std::vector<size_t>{1, 2, 0, 3}));
}

}  // namespace
}  // namespace onnx_mem
