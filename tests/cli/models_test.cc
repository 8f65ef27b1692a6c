#include "cli/commands/models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

std::string Model(const std::string& name) {
  return std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name + ".train.ts.op17.onnx";
}

Json SideBySide(const std::vector<std::string>& names) {
  Options options;
  options.command = "analyze";
  for (const std::string& name : names) options.operands.push_back(Model(name));
  options.batches = {8};
  options.by = By::kLayer;
  options.format = "json";
  const absl::StatusOr<CommandAnswer> answer = AnalyzeModels(options);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return Json::parse(answer->text);
}

// The sum of `key` over the layers of `model` whose paths begin with `prefix`.
int64_t SumOf(const Json& report, const std::string& model, const std::string& prefix, const std::string& key) {
  int64_t sum = 0;
  for (const Json& layer : report.at("layers")) {
    const bool inside = layer.at("module").get<std::string>().starts_with(prefix);
    if (layer.at("model") == Model(model) && inside) sum += layer.at(key).get<int64_t>();
  }
  return sum;
}

TEST(AnalyzeModels, AlexNetHasItsParametersInLinearLayersAndItsWorkInConvolutions) {
  const Json report = SideBySide({"alexnet", "resnet18"});
  EXPECT_GT(SumOf(report, "alexnet", "classifier.", "parameters"), SumOf(report, "alexnet", "", "parameters") * 9 / 10);
  EXPECT_GT(SumOf(report, "alexnet", "features.", "flops"), SumOf(report, "alexnet", "", "flops") * 9 / 10);
  EXPECT_EQ(SumOf(report, "alexnet", "", "parameters"), 61'100'840);
  // A residual network has neither: its last linear layer is a small part of both.
  EXPECT_LT(SumOf(report, "resnet18", "fc", "parameters"), SumOf(report, "resnet18", "", "parameters") / 10);
}

TEST(AnalyzeModels, DepthwiseNetworksHaveFewerFlopsAndStoreMore) {
  const Json report = SideBySide({"mobilenet_v2", "resnet18"});
  const Json &depthwise = report.at("models").at(0), &plain = report.at("models").at(1);
  EXPECT_LT(depthwise.at("forward_flops").get<int64_t>() * 4, plain.at("forward_flops").get<int64_t>());
  EXPECT_GT(depthwise.at("saved_activation_bytes").get<int64_t>(), plain.at("saved_activation_bytes").get<int64_t>());
}

TEST(AnalyzeModels, ABudgetThatOneModelBreaksIsBroken) {
  Options options;
  options.operands = {Model("lenet5"), Model("resnet18")};
  const auto is_yes = [&](int64_t budget_bytes) {
    options.budget_bytes = budget_bytes;
    const absl::StatusOr<CommandAnswer> answer = AnalyzeModels(options);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer->yes;
  };
  EXPECT_TRUE(is_yes(int64_t{1} << 40));
  EXPECT_FALSE(is_yes(500 << 20));
}

TEST(AnalyzeModels, RefusesWhatItCannotShow) {
  Options options;
  options.operands = {Model("lenet5"), Model("resnet18")};
  options.batches = {1, 2};
  EXPECT_FALSE(AnalyzeModels(options).ok());
  options.batches.clear();
  options.by = By::kOp;
  EXPECT_FALSE(AnalyzeModels(options).ok());
}

}  // namespace
}  // namespace onnx_mem
