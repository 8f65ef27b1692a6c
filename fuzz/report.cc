// A saved report.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/files/saved_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)onnx_mem::ParseSavedReport(text, "report.json", std::nullopt);
  return 0;
}
