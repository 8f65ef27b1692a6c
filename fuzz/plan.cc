// A plan (--plan).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/files/plan_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)onnx_mem::ParsePlan(text, "plan.json");
  return 0;
}
