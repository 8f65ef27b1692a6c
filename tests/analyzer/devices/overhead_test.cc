#include "analyzer/devices/overhead.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

CardKind Kind(const std::string& name) { return KindOf(*FindGpu(name)); }

// What the binaries of the versions have: at::cuda::parseChosenWorkspaceSize of libtorch_cuda.so.
TEST(CublasWorkspace, ByCardAndVersion) {
  struct Row {
    const char* card;
    TorchVersion torch;
    int64_t bytes;
    bool resident;
  };
  for (const Row& row :
       {Row{"T4", {2, 4}, 8519680, true}, Row{"A10G", {2, 4}, 8519680, true}, Row{"H100", {2, 0}, 32 * kMiB, true},
        Row{"H100", {2, 15}, 32 * kMiB, false}, Row{"B200", {2, 11}, 8519680, true},
        Row{"B200", {2, 12}, 32 * kMiB, true}, Row{"RTX 5090", {2, 11}, 8519680, true},
        Row{"RTX 5090", {2, 13}, 32 * kMiB, true}, Row{"RTX 4090", {2, 14}, 8519680, true},
        Row{"RTX 4090", {2, 15}, 8519680, false}, Row{"Tesla V100 SXM2 16GB", {1, 13}, 0, false}}) {
    const CublasWorkspace workspace = CublasWorkspaceOf(row.torch, Kind(row.card));
    EXPECT_EQ(workspace.bytes, row.bytes) << row.card << " " << TextOf(row.torch);
    EXPECT_EQ(workspace.resident, row.resident) << row.card << " " << TextOf(row.torch);
  }
}

TEST(CublasWorkspace, RocmHasNoneOfTheAllocatorBefore26) {
  EXPECT_EQ(CublasWorkspaceOf({2, 4}, Kind("MI250X")).bytes, 0);
  EXPECT_EQ(CublasWorkspaceOf({2, 6}, Kind("MI250X")).bytes, 32 * kMiB);
  EXPECT_EQ(CublasWorkspaceOf({2, 6}, Kind("MI300X")).bytes, 128 * kMiB);
}

TEST(TakesFewerKeyHeads, From214OnAndNotOnRocm) {
  EXPECT_FALSE(TakesFewerKeyHeads({2, 4}, std::nullopt));
  EXPECT_FALSE(TakesFewerKeyHeads({2, 13}, Kind("H100")));
  EXPECT_TRUE(TakesFewerKeyHeads({2, 14}, Kind("A10G")));
  EXPECT_TRUE(TakesFewerKeyHeads(kNewestTorch, std::nullopt));
  EXPECT_FALSE(TakesFewerKeyHeads(kNewestTorch, Kind("MI300X")));
}

TEST(AllocatorVariable, TheOldNameWhereTheNewIsNotRead) {
  EXPECT_EQ(AllocatorVariable({2, 9}), "PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(AllocatorVariable(kNewestTorch), "PYTORCH_ALLOC_CONF");
}

TEST(TorchVersion, IsReadAsPeopleAndExportersWriteIt) {
  EXPECT_EQ(ParseTorchVersion("2.4"), (TorchVersion{2, 4}));
  EXPECT_EQ(ParseTorchVersion("2.10.1+cu128"), (TorchVersion{2, 10}));
  EXPECT_EQ(ParseTorchVersion("2.15.0a0+git1"), (TorchVersion{2, 15}));
  for (const char* text : {"", "2", "2.", "two", "2.x", "-2.1", "2.4 or so"}) {
    EXPECT_EQ(ParseTorchVersion(text), std::nullopt) << text;
  }
  EXPECT_EQ(TorchOfProducer("pytorch 2.4.1"), (TorchVersion{2, 4}));
  EXPECT_EQ(TorchOfProducer("tf2onnx 1.16"), std::nullopt);
  EXPECT_LT((TorchVersion{2, 9}), (TorchVersion{2, 10}));
}

TEST(Platform, TypedVersionThenTheFilesThenTheNewest) {
  Platform platform;
  EXPECT_EQ(platform.Torch(), kNewestTorch);
  platform.torch_of_file = TorchVersion{2, 4};
  EXPECT_EQ(platform.Torch(), (TorchVersion{2, 4}));
  platform.torch = TorchVersion{2, 9};
  EXPECT_EQ(platform.Torch(), (TorchVersion{2, 9}));
}

TEST(Context, EveryRowHasASourceAndAnOrder) {
  for (const ContextRow& row : ContextRows()) {
    EXPECT_FALSE(row.source.empty()) << row.architecture;
    EXPECT_LE(row.overhead.low_bytes, row.overhead.bytes) << row.architecture;
    EXPECT_LE(row.overhead.bytes, row.overhead.high_bytes) << row.architecture;
  }
  EXPECT_EQ(ContextOf(std::nullopt).architecture, "");
  EXPECT_EQ(ContextOf(Kind("Tesla P100 SXM2 16GB")).architecture, "") << "a generation without a reading";
}

TEST(Context, HoldsWhatWasReadOfTheGeneration) {
  struct Reading {
    const char* card;
    int64_t mib;
  };
  for (const Reading& reading : {Reading{"RTX 3090", 256}, Reading{"RTX 6000 Ada", 426}, Reading{"B200", 717}}) {
    const Overhead& context = ContextOf(Kind(reading.card)).overhead;
    EXPECT_LE(context.low_bytes, reading.mib * kMiB) << reading.card;
    EXPECT_GE(context.high_bytes, reading.mib * kMiB) << reading.card;
  }
}

}  // namespace
}  // namespace onnx_mem
