// A snapshot of PyTorch's allocator, read and explained.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/snapshot/explain.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto snapshot = onnx_mem::ParseSnapshot(std::string(text), "snapshot.pickle");
  if (snapshot.ok()) (void)onnx_mem::Explain(*snapshot);
  return 0;
}
