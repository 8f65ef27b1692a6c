#include "cli/report/layers.h"

#include <algorithm>

#include "cli/report/grouped.h"

namespace onnx_mem {
namespace {

struct Part {
  std::string_view path;
  int64_t bytes = 0;
};

struct Layer {
  std::string name;
  int64_t bytes = 0;
  std::vector<Part> parts;  // modules that it is made of
};

// First component of `path` after `prefix`: with prefix "h", "h.0.attn" -> "h.0"; a path that is the prefix itself
// stays as it is.
std::string_view Child(std::string_view path, std::string_view prefix) {
  const size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
  if (path.size() <= begin) return path;
  return path.substr(0, path.find('.', begin));
}

std::vector<Layer> SplitByChild(const std::vector<Part>& parts, std::string_view prefix) {
  Grouped<Layer> children;
  for (const Part& part : parts) {
    Layer& child = children[std::string(Child(part.path, prefix))];
    child.bytes += part.bytes;
    child.parts.push_back(part);
  }
  std::vector<Layer> layers;
  for (const auto& [name, layer] : children.groups()) layers.push_back({name, layer.bytes, layer.parts});
  return layers;
}

std::vector<Part> ModulesAtPeak(const RunFigures& figures) {
  Grouped<Part> modules;
  for (const Buffer& buffer : figures.program.buffers) {
    if (!(buffer.begin <= figures.timeline.peak_step && figures.timeline.peak_step < buffer.end)) continue;
    Part& part = modules[buffer.module];
    part.path = buffer.module;
    part.bytes += buffer.bytes;
  }
  std::vector<Part> parts;
  for (const auto& [name, part] : modules.groups()) parts.push_back(part);
  return parts;
}

}  // namespace

std::vector<std::pair<std::string, int64_t>> BytesByLayer(const RunFigures& figures) {
  std::vector<Layer> layers = SplitByChild(ModulesAtPeak(figures), "");
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
