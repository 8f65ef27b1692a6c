#include "analyzer/allocators/packing_order.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace onnx_mem {
namespace {

// Preference among buffers with the same lowest offset: weight^exponent * measure, larger first.
enum class Measure { kOne, kLength, kSize, kArea, kPressure };
struct Preference {
  double weight_exponent;
  Measure measure;
  Measure tie_break;
};
constexpr auto kPreferences = std::to_array<Preference>({
    {0, Measure::kLength, Measure::kArea},
    {0, Measure::kPressure, Measure::kArea},
    {0, Measure::kPressure, Measure::kLength},
    {0, Measure::kArea, Measure::kPressure},
    {0.5, Measure::kLength, Measure::kSize},
    {1, Measure::kOne, Measure::kSize},
    {0.5, Measure::kSize, Measure::kLength},
    {1, Measure::kSize, Measure::kLength},
    {0.5, Measure::kArea, Measure::kLength},
    {1, Measure::kArea, Measure::kLength},
    {1, Measure::kLength, Measure::kSize},
});

double ValueOf(const PackingItem& it, Measure measure) {
  switch (measure) {
    case Measure::kOne: return 1;
    case Measure::kLength: return it.length;
    case Measure::kSize: return static_cast<double>(it.bytes);
    case Measure::kArea: return it.length * static_cast<double>(it.bytes);
    case Measure::kPressure: return it.pressure;
  }
  return 0;
}

}  // namespace

std::vector<int> RankOfItems(const std::vector<PackingItem>& items, const std::vector<double>& weights, int restart) {
  const Preference& preference = kPreferences[static_cast<size_t>(restart) % kPreferences.size()];
  const double heaviest = std::max(1e-300, *std::max_element(weights.begin(), weights.end()));
  struct Key {
    double value;
    double tie_break;
    int item;
  };
  std::vector<Key> keys;
  for (int i = 0; i < static_cast<int>(items.size()); ++i) {
    const double weight = weights[static_cast<size_t>(i)] / heaviest + 1e-9;
    const PackingItem& item = items[static_cast<size_t>(i)];
    keys.push_back({std::pow(weight, preference.weight_exponent) * ValueOf(item, preference.measure),
                    ValueOf(item, preference.tie_break), i});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.value != b.value) return a.value > b.value;
    return a.tie_break != b.tie_break ? a.tie_break > b.tie_break : a.item < b.item;
  });
  std::vector<int> rank(items.size());
  for (size_t i = 0; i < keys.size(); ++i) rank[static_cast<size_t>(keys[i].item)] = static_cast<int>(i);
  return rank;
}

}  // namespace onnx_mem
