// The published training graphs whose optima are proven: reached, with the certificate. The data stays outside the
// project; without it there is nothing to test.
#include <cmath>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "solver/methods/solve.h"
#include "solver/problem/simulate.h"
#include "tests/solver/node_link_graph.h"

namespace onnx_mem {
namespace {

struct Optimum {
  const char* name;         // how the file begins
  int percent;              // budget, of the peak of keeping everything
  int thousandths_percent;  // extra cost
};
constexpr Optimum kOptima[] = {
    {"VGG16", 90, 1968},    {"fcn_8", 90, 29},      {"fcn_8", 80, 136},      {"vgg_unet", 90, 1129},
    {"vgg_unet", 80, 1984}, {"vgg_unet", 70, 2967}, {"vgg_unet", 60, 4451},  {"segnet", 90, 103},
    {"segnet", 80, 207},    {"segnet", 70, 311},    {"segnet", 60, 423},     {"MobileNet", 90, 163},
    {"MobileNet", 80, 370}, {"MobileNet", 70, 626}, {"MobileNet", 60, 1067}, {"ResNet50", 90, 108},
    {"ResNet50", 80, 279},  {"ResNet50", 70, 564},  {"ResNet50", 60, 963},   {"ResNet50", 50, 1499},
};

std::string FileOf(const std::filesystem::path& folder, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.rfind(name, 0) == 0 && file.find("_train_") != std::string::npos) return entry.path().string();
  }
  return "";
}

TEST(PublishedGraphsTest, ProvenOptimaAreReachedWithTheirCertificate) {
  const std::filesystem::path folder = ONNX_MEM_UNPACKED_DIR "/step_graphs/moccasin";
  SolveOptions options;
  options.time_limit_s = 0;
  options.iteration_limit = 100;
  for (const Optimum& known : kOptima) {
    SCOPED_TRACE(std::string(known.name) + " at " + std::to_string(known.percent) + " %");
    const auto graph = ReadNodeLinkGraph(FileOf(folder, known.name));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Solution all = *Solve(*graph, int64_t{1} << 60, options);
    const auto budget = static_cast<int64_t>(static_cast<double>(all.peak_bytes) * known.percent / 100);
    const auto solution = Solve(*graph, budget, options);
    ASSERT_TRUE(solution.ok());
    ASSERT_EQ(solution->status, SolveStatus::kFeasible);
    EXPECT_TRUE(solution->optimal);
    const double extra = static_cast<double>(solution->cost - all.cost) / static_cast<double>(all.cost);
    EXPECT_LE(std::abs(extra * 1e5 - known.thousandths_percent), 1.0);
    const auto measure = Simulate(*graph, solution->schedule);
    ASSERT_TRUE(measure.ok());
    EXPECT_LE(measure->peak_bytes, budget);
    EXPECT_EQ(measure->cost, solution->cost);
  }
}

}  // namespace
}  // namespace onnx_mem
