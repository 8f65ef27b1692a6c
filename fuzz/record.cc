// The record of a running model.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/record/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)onnx_mem::record::ParseRecord(text);
  return 0;
}
