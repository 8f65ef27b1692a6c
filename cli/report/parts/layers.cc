#include "cli/report/parts/layers.h"

#include <algorithm>
#include <string_view>

#include "cli/report/parts/grouped.h"

namespace onnx_mem {
namespace {

using Module = std::pair<std::string, int64_t>;  // path, bytes

struct Layer {
  std::string name;
  int64_t bytes = 0;
  std::vector<Module> parts;  // modules that it is made of
};

// First component of `path` after `prefix`: with prefix "h", "h.0.attn" -> "h.0"; a path that is the prefix itself
// stays as it is.
std::string_view Child(std::string_view path, std::string_view prefix) {
  const size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
  if (path.size() <= begin || path.front() == '/') return path;  // names of nodes are no paths
  return path.substr(0, path.find('.', begin));
}

std::vector<Layer> SplitByChild(const std::vector<Module>& parts, std::string_view prefix) {
  Grouped<Layer> children;
  for (const Module& part : parts) {
    Layer& child = children[std::string(Child(part.first, prefix))];
    child.bytes += part.second;
    child.parts.push_back(part);
  }
  std::vector<Layer> layers;
  for (const auto& [name, layer] : children.groups()) layers.push_back({name, layer.bytes, layer.parts});
  return layers;
}

std::vector<Module> ModulesAtPeak(const RunFigures& figures, const Modules& modules) {
  Grouped<int64_t> bytes;
  for (const Buffer& buffer : figures.program.buffers) {
    if (!(buffer.begin <= figures.timeline.peak_step && figures.timeline.peak_step < buffer.end)) continue;
    bytes[modules.LayerOf(figures.program, buffer)] += buffer.bytes;
  }
  return bytes.groups();
}

}  // namespace

std::vector<std::pair<std::string, int64_t>> BytesByLayer(const RunFigures& figures, const Modules& modules) {
  std::vector<Layer> layers = SplitByChild(ModulesAtPeak(figures, modules), "");
  int64_t total = 0;
  for (const Layer& layer : layers) total += layer.bytes;
  while (!layers.empty()) {
    const auto largest = std::max_element(layers.begin(), layers.end(),
                                          [](const Layer& a, const Layer& b) { return a.bytes < b.bytes; });
    const std::vector<Layer> children = SplitByChild(largest->parts, largest->name);
    const bool leaf = children.size() == 1 && children.front().name == largest->name;
    if (leaf || largest->name.empty() || (layers.size() > 1 && largest->bytes <= total / 2)) break;
    layers.erase(largest);
    layers.insert(layers.end(), children.begin(), children.end());
  }
  std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) { return a.bytes > b.bytes; });
  std::vector<std::pair<std::string, int64_t>> result;
  for (const Layer& layer : layers) {
    result.emplace_back(layer.name.empty() ? std::string(kNoModule) : layer.name, layer.bytes);
  }
  return result;
}

}  // namespace onnx_mem
