#include "analyzer/onnx/infer/bounds.h"

#include <algorithm>
#include <array>

#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem {
namespace {

// Which operands may be bounds.
enum class Growth : uint8_t {
  kFirst,              // the first one; the others are exact
  kFirstNotNegative,   // likewise, and no element is negative
  kFirstOverPositive,  // the first one, divided by exact positive numbers
  kAll,
  kAllNotNegative,
};

struct GrowthRow {
  std::string_view op;
  Growth growth;
};

constexpr auto kGrowth = std::to_array<GrowthRow>({
    {"Add", Growth::kAll},
    {"Cast", Growth::kFirst},
    {"Ceil", Growth::kFirst},
    {"Concat", Growth::kAll},
    {"Div", Growth::kFirstOverPositive},
    {"Expand", Growth::kFirst},
    {"Flatten", Growth::kFirst},
    {"Floor", Growth::kFirst},
    {"Gather", Growth::kFirst},
    {"GatherElements", Growth::kFirst},
    {"GatherND", Growth::kFirst},
    {"Identity", Growth::kFirst},
    {"Max", Growth::kAll},
    {"Min", Growth::kAll},
    {"Mul", Growth::kAllNotNegative},
    {"ReduceMax", Growth::kFirst},
    {"ReduceMin", Growth::kFirst},
    {"ReduceProd", Growth::kFirstNotNegative},
    {"ReduceSum", Growth::kFirst},
    {"Relu", Growth::kFirst},
    {"Reshape", Growth::kFirst},
    {"Round", Growth::kFirst},
    {"Shape", Growth::kFirst},
    {"Size", Growth::kFirst},
    {"Slice", Growth::kFirst},
    {"Split", Growth::kFirst},
    {"Sqrt", Growth::kFirst},
    {"Squeeze", Growth::kFirst},
    {"Sub", Growth::kFirst},
    {"Sum", Growth::kAll},
    {"Tile", Growth::kFirst},
    {"Transpose", Growth::kFirst},
    {"Unsqueeze", Growth::kFirst},
});

struct SizeRow {
  std::string_view op;
  size_t index;
};

constexpr auto kSizes = std::to_array<SizeRow>({
    {"ConstantOfShape", 0},    // the shape
    {"Expand", 1},             // the shape
    {"NonMaxSuppression", 2},  // boxes per class
    {"OneHot", 1},             // depth
    {"Pad", 1},                // pads
    {"Range", 1},              // limit
    {"Reshape", 1},            // the shape
    {"Resize", 3},             // sizes
    {"Slice", 2},              // ends
    {"Tile", 1},               // repeats
    {"TopK", 1},               // k
});

// Whether every element is known and at least `least`.
bool AllAtLeast(const Literal* contents, int64_t least) {
  if (contents == nullptr) return false;
  if (const std::vector<int64_t>* ints = contents->ints()) {
    return std::all_of(ints->begin(), ints->end(), [&](int64_t v) { return v >= least; });
  }
  if (const std::vector<double>* floats = contents->floats()) {
    return std::all_of(floats->begin(), floats->end(), [&](double v) { return v >= 0 && (least == 0 || v > 0); });
  }
  return false;
}

bool OnlyFirstIsBound(absl::Span<const BoundOperand> operands) {
  return std::none_of(operands.begin() + 1, operands.end(), [](const BoundOperand& o) { return o.is_bound; });
}

}  // namespace

bool KeepsBounds(std::string_view op, absl::Span<const BoundOperand> operands) {
  const auto row = std::find_if(kGrowth.begin(), kGrowth.end(), [op](const GrowthRow& r) { return r.op == op; });
  if (row == kGrowth.end() || operands.empty()) return false;
  switch (row->growth) {
    case Growth::kFirst: return OnlyFirstIsBound(operands);
    case Growth::kFirstNotNegative: return OnlyFirstIsBound(operands) && AllAtLeast(operands[0].contents, 0);
    case Growth::kFirstOverPositive:
      return OnlyFirstIsBound(operands) && operands.size() == 2 && AllAtLeast(operands[1].contents, 1);
    case Growth::kAll: return true;
    case Growth::kAllNotNegative:
      return std::all_of(operands.begin(), operands.end(),
                         [](const BoundOperand& o) { return AllAtLeast(o.contents, 0); });
  }
  return false;
}

bool SizeGrowsWith(std::string_view op, size_t index) {
  return std::any_of(kSizes.begin(), kSizes.end(),
                     [&](const SizeRow& row) { return row.op == op && row.index == index; });
}

}  // namespace onnx_mem
