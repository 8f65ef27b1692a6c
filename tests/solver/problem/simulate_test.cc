#include "solver/problem/simulate.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "solver/problem/instance.h"
#include "tests/solver/graph_builder.h"

namespace onnx_mem {
namespace {

// x -> F0 -> a(10) -> F1 -> b(20), B2 reads a and b and writes d(10), B3 reads d.
struct TwoBlocks : GraphBuilder {
  StepTensorId x = Input(), a = Activation(10), b = Activation(20), d = Gradient(10);
  StepOpId f0 = Forward(3, {{x}}, {a}), f1 = Forward(4, {{a}}, {b}, 5);
  StepOpId b2 = Backward(8, {{a}, {b}}, {d}, 2), b3 = Backward(6, {{d}}, {});
};

ScheduleStep C(StepOpId op) { return ScheduleStep::Compute(op); }
ScheduleStep F(StepTensorId tensor) { return ScheduleStep::Free(tensor); }

TEST(SimulateTest, KeepsEverything) {
  TwoBlocks g;
  g.graph.base_bytes = 100;
  const auto measure = Simulate(g.graph, {C(g.f0), C(g.f1), C(g.b2), C(g.b3)});
  ASSERT_TRUE(measure.ok()) << measure.status();
  // B2: base 100 + a 10 + b 20 + d 10 + work 2.
  EXPECT_EQ(*measure, (ScheduleMeasure{142, 21}));
}

TEST(SimulateTest, RerunsChargeOnlyWhatIsNotResident) {
  TwoBlocks g;
  const auto measure =
      Simulate(g.graph, {C(g.f0), C(g.f1), C(g.f1), F(g.a), C(g.f0), C(g.b2), F(g.a), F(g.b), C(g.b3)});
  ASSERT_TRUE(measure.ok()) << measure.status();
  EXPECT_EQ(*measure, (ScheduleMeasure{42, 28}));
}

TEST(SimulateTest, SecondContributionNeedsATemporary) {
  GraphBuilder g;
  const auto d = g.Gradient(7);
  const auto p = g.ParameterGradient(3);
  const auto first = g.Backward(1, {}, {d, p});
  const auto second = g.Backward(1, {}, {d, p});
  const auto reader = g.Backward(1, {{d}}, {p});
  const auto measure = Simulate(g.graph, {C(first), C(second), C(reader)});
  ASSERT_TRUE(measure.ok()) << measure.status();
  EXPECT_EQ(measure->peak_bytes, 20);
}

TEST(SimulateTest, GradientsWithoutReadersVanish) {
  GraphBuilder g;
  const auto d = g.Gradient(7);
  const auto e = g.Gradient(8);
  const auto first = g.Backward(1, {}, {d});
  const auto second = g.Backward(1, {}, {e});
  EXPECT_EQ(Simulate(g.graph, {C(first), C(second)})->peak_bytes, 8);
}

TEST(SimulateTest, RefusesIllegalSteps) {
  TwoBlocks g;
  const auto message = [&](const Schedule& schedule) {
    const auto measure = Simulate(g.graph, schedule);
    EXPECT_EQ(DiagnosticOf(measure.status()).code, Code::kIllegalSchedule);
    return std::string(measure.status().message());
  };
  EXPECT_EQ(message({C(g.f1)}), "input 't1' is missing for: 'F1'");
  EXPECT_EQ(message({F(g.a)}), "free of a tensor that is not resident: 't1'");
  EXPECT_EQ(message({F(g.x)}), "free of what is not an activation: 't0'");
  EXPECT_EQ(message({F(StepTensorId(9))}), "free of an unknown tensor: '9'");
  EXPECT_EQ(message({C(StepOpId(-1))}), "run of an unknown operator: '-1'");
  EXPECT_EQ(message({C(g.f0), C(g.f1), C(g.b2), C(g.b2)}), "a backward operator runs twice: 'B2'");
  EXPECT_EQ(message({C(g.f0), C(g.f1), C(g.b2)}), "operator never runs: 'B3'");
}

TEST(SimulateTest, RefusesIncompleteGradients) {
  GraphBuilder g;
  const auto d = g.Gradient(7);
  const auto first = g.Backward(1, {}, {d});
  const auto second = g.Backward(1, {}, {d});
  const auto reader = g.Backward(1, {{d}}, {});
  EXPECT_TRUE(Simulate(g.graph, {C(first), C(second), C(reader)}).ok());
  EXPECT_EQ(Simulate(g.graph, {C(first), C(reader), C(second)}).status().message(),
            "an incomplete gradient is read by: 'B2'");
}

TEST(SimulateTest, OrderedOperatorsFirstRunInOrder) {
  GraphBuilder g;
  const auto a = g.Activation(1);
  const auto b = g.Activation(1);
  const auto n0 = g.Ordered(2, {}, {a});
  const auto n1 = g.Ordered(2, {}, {b});
  EXPECT_EQ(Simulate(g.graph, {C(n0), F(a), C(n0), C(n1)})->cost, 6);
  EXPECT_FALSE(Simulate(g.graph, {C(n1), C(n0)}).ok());
}

// Every recorded schedule measures what the reference simulator measured.
TEST(SimulateTest, AgreesWithRecordedSolutions) {
  const std::filesystem::path folder = ONNX_MEM_UNPACKED_DIR "/step_graphs/instances";
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto graph = ReadInstance(entry.path().string());
    ASSERT_TRUE(graph.ok()) << entry.path() << graph.status();
    std::ifstream file(entry.path());
    const nlohmann::json json = nlohmann::json::parse(file);
    EXPECT_EQ(OnceCost(*graph), json["once_cost"].get<int64_t>());
    for (const auto& solution : json["solutions"]) {
      if (!solution.contains("schedule") || solution["schedule"].is_null()) continue;
      Schedule schedule;
      for (const auto& step : solution["schedule"]) {
        schedule.push_back(
            {step[0] == "C" ? ScheduleStep::Kind::kCompute : ScheduleStep::Kind::kFree, step[1].get<int32_t>()});
      }
      const auto measure = Simulate(*graph, schedule);
      ASSERT_TRUE(measure.ok()) << entry.path() << measure.status();
      EXPECT_EQ(measure->cost, solution["best_cost"].get<int64_t>()) << entry.path();
      EXPECT_EQ(measure->peak_bytes, solution["best_peak"].get<int64_t>()) << entry.path();
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace onnx_mem
