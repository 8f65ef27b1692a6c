#include "analyzer/run/host_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

bool Holds(const KeptOutputs& outputs, const RegionStorage& storage) {
  if (storage.maker < 0) return false;
  const std::vector<bool>& of_maker = outputs[static_cast<size_t>(storage.maker)];
  return static_cast<size_t>(storage.output) < of_maker.size() && of_maker[static_cast<size_t>(storage.output)];
}

}  // namespace

std::string WhyNotMoved(const RegionCalls& region, const KeptOutputs& kept, const KeptOutputs& moved) {
  for (size_t s = 0; s < region.storages.size(); ++s) {
    const RegionStorage& storage = region.storages[s];
    if (!Holds(moved, storage)) continue;
    const std::string output = absl::StrCat("output ", static_cast<int>(storage.output), " of '",
                                            TextOf(region.calls[static_cast<size_t>(storage.maker)].call), "'");
    if (Holds(kept, storage)) return absl::StrCat(output, " is named under both \"keep\" and \"offload\"");
    const auto writer = std::find_if(region.calls.begin(), region.calls.end(), [&](const RegionCall& call) {
      return std::find(call.writes.begin(), call.writes.end(), static_cast<int32_t>(s)) != call.writes.end();
    });
    if (writer == region.calls.end()) continue;
    return absl::StrCat(output, " cannot go to the host, as '", TextOf(writer->call),
                        "' writes over it: name it under \"keep\" instead");
  }
  return "";
}

}  // namespace onnx_mem
