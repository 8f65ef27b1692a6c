// A snapshot of PyTorch's allocator.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/files/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)onnx_mem::ParseSnapshot(text, "snapshot.pickle");
  return 0;
}
