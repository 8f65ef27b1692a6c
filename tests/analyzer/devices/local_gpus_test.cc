#include "analyzer/devices/local_gpus.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(LocalGpus, ReadsEveryCardThatTheDriverLetsBeRead) {
  const auto gpus = ReadLocalGpus(FAKE_NVML);
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  ASSERT_EQ(gpus->size(), 2U);
  const LocalGpu& small = gpus->at(0);
  EXPECT_EQ(small.index, 0);
  EXPECT_EQ(small.name, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(small.total_bytes, 24 * kGiB);
  EXPECT_EQ(small.free_bytes, 20 * kGiB);
  EXPECT_EQ(small.used_bytes, 4 * kGiB);
  EXPECT_EQ(small.driver, "570.86.15");
  EXPECT_EQ(gpus->at(1).name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpus->at(1).index, 1);
}

TEST(LocalGpus, ListsTheLargestProcessFirstAndTheUnknownLast) {
  const auto gpus = ReadLocalGpus(FAKE_NVML);
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  const std::vector<GpuProcess>& processes = gpus->at(0).processes;
  ASSERT_EQ(processes.size(), 3U);
  EXPECT_EQ(processes[0].pid, 43);
  EXPECT_EQ(processes[0].used_bytes, 2 * kGiB);
  EXPECT_EQ(processes[0].name, "/usr/bin/python3");
  EXPECT_EQ(processes[1].pid, 42);
  EXPECT_EQ(processes[1].name, "");
  EXPECT_EQ(processes[2].used_bytes, std::nullopt);
  EXPECT_TRUE(gpus->at(1).processes.empty());
}

TEST(LocalGpus, TakesTheFreest) {
  const auto gpus = ReadLocalGpus(FAKE_NVML);
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  EXPECT_EQ(FreestOf(*gpus).name, "NVIDIA A100-SXM4-80GB");
}

TEST(LocalGpus, StopsTheLibraryThatItStarted) {
  void* library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);  // held, so that its count outlives the reading
  ASSERT_NE(library, nullptr);
  const auto* running = static_cast<const int*>(dlsym(library, "fake_nvml_running"));
  ASSERT_NE(running, nullptr);
  EXPECT_TRUE(ReadLocalGpus(FAKE_NVML).ok());
  EXPECT_EQ(*running, 0);
  dlclose(library);
}

TEST(LocalGpus, WithoutADriverSaysWhatElseToGive) {
  const Diagnostic error = DiagnosticOf(ReadLocalGpus("libno-such-driver.so.1").status());
  EXPECT_EQ(error.code, Code::kNoDriver);
  ASSERT_EQ(error.details.size(), 3U);
  EXPECT_NE(error.details[0].find("libno-such-driver.so.1"), std::string::npos);
  EXPECT_NE(error.details[1].find("--gpu NAME"), std::string::npos);
  EXPECT_NE(error.details[2].find("--gpu-memory 24GiB"), std::string::npos);
}

TEST(LocalGpus, NamesTheCallThatALibraryLacks) {
  const Diagnostic error = DiagnosticOf(ReadLocalGpus(FAKE_NO_NVML).status());
  EXPECT_EQ(error.code, Code::kNoDriver);
  EXPECT_NE(error.details.at(0).find("nvmlInit_v2"), std::string::npos);
}

}  // namespace
}  // namespace onnx_mem
