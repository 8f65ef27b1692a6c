// What PyTorch's environment has to say for each allocator.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "analyzer/allocators/allocator.h"

namespace onnx_mem {
namespace {

TEST(SettingsOf, AreReadBackAsTheSameAllocator) {
  std::set<std::string> with_settings;
  for (const AllocatorRow& row : Allocators()) {
    const Settings settings = SettingsOf(row.name);
    if (settings.empty()) continue;
    EXPECT_EQ(AllocatorWith(settings), row.name);
    EXPECT_EQ(AllocatorWith(SettingsOf(row.name, "PYTORCH_CUDA_ALLOC_CONF")), row.name);
    EXPECT_EQ(row.client, Client::kFramework) << "PyTorch alone reads them";
    with_settings.insert(std::string(row.name));
  }
  EXPECT_EQ(with_settings, std::set<std::string>{"pytorch-expandable"});
  EXPECT_EQ(TextOf(SettingsOf("pytorch-expandable")), "PYTORCH_ALLOC_CONF=expandable_segments:True");
}

TEST(AllocatorWith, KnowsNoOthers) {
  EXPECT_EQ(AllocatorWith({}), std::nullopt);
  EXPECT_EQ(AllocatorWith({{"PYTORCH_ALLOC_CONF", "max_split_size_mb:128"}}), std::nullopt);
  EXPECT_EQ(AllocatorWith({{"SOMETHING_ELSE", "expandable_segments:True"}}), std::nullopt);
}

}  // namespace
}  // namespace onnx_mem
