// A step graph (--instance).
#include "solver/problem/instance.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)onnx_mem::ParseInstance(text);
  return 0;
}
