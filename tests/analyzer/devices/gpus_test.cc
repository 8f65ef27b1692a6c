#include "analyzer/devices/gpus.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(Gpus, KnowsACardByAnyOfItsNames) {
  for (const char* name : {"RTX 4090", "rtx-4090", "NVIDIA GeForce RTX 4090", "4090"}) {
    const auto gpu = FindGpu(name);
    ASSERT_TRUE(gpu.ok()) << name;
    EXPECT_EQ(gpu->memory_mib, 24564) << name;
  }
}

TEST(GpuWords, NameOneCardEach) {
  const std::vector<std::string> words = GpuWords();
  EXPECT_GT(words.size(), Gpus().size());
  for (const std::string& word : words) {
    EXPECT_EQ(word.find(' '), std::string::npos) << word;
    EXPECT_TRUE(FindGpu(word).ok()) << word;
  }
}

TEST(Gpus, AProgramSeesNoMoreThanNvidiaSmiShows) {
  EXPECT_EQ(UsableBytes(*FindGpu("RTX 4090")), 24217 * kMiB);
  for (const Gpu& gpu : Gpus()) {
    EXPECT_LE(UsableBytes(gpu), gpu.memory_mib * kMiB) << gpu.name;
    EXPECT_GT(UsableBytes(gpu), gpu.memory_mib * kMiB * 9 / 10) << gpu.name;
  }
}

TEST(Gpus, AsksForTheSizeWhereANameHasSeveral) {
  const Diagnostic error = DiagnosticOf(FindGpu("A100").status());
  EXPECT_EQ(error.code, Code::kAmbiguousGpu);
  EXPECT_NE(absl::StrJoin(error.details, "\n").find("--gpu 'A100 SXM4 80GB'"), std::string::npos);
  EXPECT_TRUE(FindGpu("A100 80GB").ok());
}

TEST(Gpus, SuggestsACardForATypo) {
  const Diagnostic error = DiagnosticOf(FindGpu("RTX4900").status());
  EXPECT_EQ(error.code, Code::kUnknownGpu);
  EXPECT_NE(error.details.at(0).find("4090"), std::string::npos);
}

TEST(Gpus, FindsCardsByAPartOfTheirNames) {
  std::vector<std::string> names;
  const auto found = GpusWith("rtx 4090");
  for (const Gpu& gpu : *found) names.push_back(gpu.name);
  EXPECT_EQ(names, (std::vector<std::string>{"GeForce RTX 4090 D", "GeForce RTX 4090", "GeForce RTX 4090 Laptop"}));
  EXPECT_EQ(DiagnosticOf(GpusWith("9999").status()).code, Code::kUnknownGpu);
}

TEST(Gpus, RefusesWhatNoCardHas) {
  for (const char* number : {"1e308", "inf", "nan", "-4", "2e12"}) {
    for (const char* column : {"sold_gb", "pcie_lanes", "fp32_tflops"}) {
      const std::string text = std::string("name,memory_mib,") + column + "\nCard,1024," + number + "\n";
      EXPECT_EQ(DiagnosticOf(ParseGpus(text, "cards.csv").status()).code, Code::kBadGpuFile) << column << number;
    }
  }
  EXPECT_TRUE(ParseGpus("name,memory_mib,pcie_lanes\nCard,1024,0\n", "cards.csv").ok());
}

TEST(Gpus, EveryRowIsWhole) {
  EXPECT_GE(Gpus().size(), 150u);
  for (const Gpu& gpu : Gpus()) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_mib, 0) << gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
  }
}

}  // namespace
}  // namespace onnx_mem
