#include "report/parts/layers.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/order/stable_sort.h"
#include "report/parts/grouped.h"

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
  for (const Buffer& buffer : figures.program->buffers) {
    if (!(buffer.begin <= figures.timeline.peak_step && figures.timeline.peak_step < buffer.end)) continue;
    bytes[modules.LayerOf(*figures.program, buffer)] += buffer.bytes;
  }
  return bytes.groups();
}

struct Numbered {
  int64_t number = 0;
  int64_t bytes = 0;
};

// 11 of "h.11".
std::optional<int64_t> LastNumber(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + dot + 1, end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

bool Follows(const Numbered& first, const Numbered& before, const Numbered& next) {
  return next.number == before.number + 1 && 100 * std::abs(next.bytes - first.bytes) <= first.bytes;
}

}  // namespace

std::vector<LayerShare> BytesByLayer(const RunFigures& figures, const Modules& modules) {
  std::vector<Layer> layers = SplitByChild(ModulesAtPeak(figures, modules), "");
  int64_t total = 0;
  for (const Layer& layer : layers) total += layer.bytes;
  while (!layers.empty()) {
    const auto largest = std::max_element(layers.begin(), layers.end(),
                                          [](const Layer& a, const Layer& b) { return a.bytes < b.bytes; });
    const std::vector<Layer> children = SplitByChild(largest->parts, largest->name);
    const bool leaf = children.size() == 1 && children.front().name == largest->name;
    if (leaf || largest->name.empty() || (layers.size() > 1 && largest->bytes <= 2 * (total / 5))) break;
    layers.erase(largest);
    layers.insert(layers.end(), children.begin(), children.end());
  }
  StableSort(layers, [](const Layer& a, const Layer& b) { return a.bytes > b.bytes; });
  std::vector<LayerShare> result;
  for (const Layer& layer : layers) {
    result.push_back({layer.name.empty() ? std::string(kNoModule) : layer.name, layer.bytes});
  }
  return result;
}

std::vector<LayerShare> FoldRepeats(const std::vector<LayerShare>& layers) {
  std::map<std::string, std::vector<Numbered>> by_stem;
  std::vector<LayerShare> folded;
  for (const LayerShare& layer : layers) {
    const std::optional<int64_t> number = LastNumber(layer.name);
    if (number) {
      by_stem[layer.name.substr(0, layer.name.rfind('.') + 1)].push_back({*number, layer.bytes});
    } else {
      folded.push_back(layer);
    }
  }
  for (auto& [stem, members] : by_stem) {
    std::sort(members.begin(), members.end(), [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
    for (size_t i = 0, end = 0; i < members.size(); i = end) {
      LayerShare run{absl::StrCat(stem, members[i].number), members[i].bytes};
      for (end = i + 1; end < members.size() && Follows(members[i], members[end - 1], members[end]); ++end) {
        run.bytes += members[end].bytes;
      }
      if (end > i + 1) absl::StrAppend(&run.name, "-", members[end - 1].number);
      folded.push_back(std::move(run));
    }
  }
  StableSort(folded, [](const LayerShare& a, const LayerShare& b) { return a.bytes > b.bytes; });
  return folded;
}

}  // namespace onnx_mem
