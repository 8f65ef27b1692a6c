// Operators that reduce along axes: ReduceSum and its family, ArgMax, CumSum. A reduced group with an unknown element
// is unknown.
#include <array>
#include <cmath>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem::fold {
namespace {

// Which axes go, and for each input element the offset of the group it belongs to.
struct ReducedGroups {
  Dims dims;  // of the result
  std::vector<int64_t> group;
  int64_t groups = 0;
};

std::optional<ReducedGroups> Group(const Literal& x, absl::Span<const int64_t> axes, bool keep_dims) {
  std::vector<bool> reduced(x.dims.size(), axes.empty());
  for (int64_t axis : axes) {
    std::optional<size_t> normal = NormalAxis(axis, x.dims.size());
    if (!normal) return std::nullopt;
    reduced[*normal] = true;
  }
  Dims kept;  // with ones for the reduced axes
  ReducedGroups grouping;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    kept.push_back(reduced[i] ? 1 : x.dims[i]);
    if (!reduced[i] || keep_dims) grouping.dims.push_back(kept.back());
  }
  grouping.groups = Count(kept).value_or(0);
  grouping.group = BroadcastOffsets(kept, x.dims);
  return grouping;
}

// Reduces every group from `start` with `step`, then `finish`(accumulated, elements per group).
template <class Step, class Finish>
Outputs Reduce(const FoldCall& call, std::optional<double> start, Step step, Finish finish) {
  const Literal& x = *call.value(0);
  const std::vector<int64_t> axes = call.ints_input_or_attribute(1, "axes").value_or(std::vector<int64_t>());
  if (axes.empty() && call.int_attribute("noop_with_empty_axes", 0) != 0) return {};
  std::optional<ReducedGroups> grouping = Group(x, axes, call.int_attribute("keepdims", 1) != 0);
  const std::optional<int64_t> count = Count(x.dims);
  if (!grouping || !count || (*count == 0 && !start)) return {};
  const int64_t per_group = grouping->groups == 0 ? 0 : *count / grouping->groups;
  const auto run = [&](const auto& data) {
    using T = typename std::decay_t<decltype(data)>::value_type;
    std::vector<T> result(static_cast<size_t>(grouping->groups), static_cast<T>(start.value_or(0)));
    std::vector<bool> begun(result.size(), start.has_value());
    for (size_t i = 0; i < data.size(); ++i) {
      const auto g = static_cast<size_t>(grouping->group[i]);
      if constexpr (std::is_same_v<T, int64_t>) {
        if (data[i] == kUnknownElement || (begun[g] && result[g] == kUnknownElement)) {
          result[g] = kUnknownElement;
          begun[g] = true;
          continue;
        }
      }
      result[g] = begun[g] ? static_cast<T>(step(result[g], data[i])) : data[i];
      begun[g] = true;
    }
    for (T& v : result) {
      if constexpr (std::is_same_v<T, int64_t>) {
        if (v != kUnknownElement) v = WrapToInteger(x.dtype, static_cast<int64_t>(finish(v, per_group)));
      } else {
        v = RoundToFloat(x.dtype, static_cast<double>(finish(v, per_group)));
      }
    }
    return result;
  };
  if (x.ints() != nullptr) return Integers(x.dtype, grouping->dims, run(*x.ints()));
  if (x.floats() != nullptr) return Floats(x.dtype, grouping->dims, run(*x.floats()));
  return {};
}

struct Plus {
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  double operator()(double a, double b) const { return a + b; }
};
struct Times {
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  double operator()(double a, double b) const { return a * b; }
};
struct PlusSquare {
  template <class T>
  T operator()(T a, T b) const {
    return Plus()(a, Times()(b, b));
  }
};
struct PlusAbsolute {
  int64_t operator()(int64_t a, int64_t b) const { return Plus()(a, b < 0 ? Times()(b, int64_t{-1}) : b); }
  double operator()(double a, double b) const { return a + std::fabs(b); }
};
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Same {
  template <class T>
  T operator()(T v, int64_t) const {
    return v;
  }
};
struct Average {
  int64_t operator()(int64_t v, int64_t n) const { return n == 0 ? kUnknownElement : v / n; }
  double operator()(double v, int64_t n) const { return v / static_cast<double>(n); }
};

Outputs ReduceL1(const FoldCall& call) { return Reduce(call, 0, PlusAbsolute(), Same()); }
Outputs ReduceMax(const FoldCall& call) { return Reduce(call, std::nullopt, Larger(), Same()); }
Outputs ReduceMean(const FoldCall& call) { return Reduce(call, 0, Plus(), Average()); }
Outputs ReduceMin(const FoldCall& call) { return Reduce(call, std::nullopt, Smaller(), Same()); }
Outputs ReduceProd(const FoldCall& call) { return Reduce(call, 1, Times(), Same()); }
Outputs ReduceSum(const FoldCall& call) { return Reduce(call, 0, Plus(), Same()); }
Outputs ReduceSumSquare(const FoldCall& call) { return Reduce(call, 0, PlusSquare(), Same()); }

Outputs ReduceL2(const FoldCall& call) {
  if (call.value(0)->floats() == nullptr) return {};
  return Reduce(call, 0, PlusSquare(), [](auto v, int64_t) { return std::sqrt(static_cast<double>(v)); });
}

Outputs ReduceLogSum(const FoldCall& call) {
  if (call.value(0)->floats() == nullptr) return {};
  return Reduce(call, 0, Plus(), [](auto v, int64_t) { return std::log(static_cast<double>(v)); });
}

Outputs ArgBest(const FoldCall& call, bool largest) {
  const Literal& x = *call.value(0);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 0), x.dims.size());
  if (!axis || x.dims[*axis] == 0) return {};
  const bool last = call.int_attribute("select_last_index", 0) != 0;
  const AxisSplit split = SplitAt(x.dims, *axis);
  std::vector<int64_t> result;
  const auto run = [&](const auto& data) {
    for (int64_t outer = 0; outer < split.outer; ++outer) {
      for (int64_t inner = 0; inner < split.inner; ++inner) {
        const auto at = [&](int64_t i) {
          return data[static_cast<size_t>((outer * split.length + i) * split.inner + inner)];
        };
        int64_t best = 0;
        for (int64_t i = 1; i < split.length; ++i) {
          const bool better = largest ? at(best) < at(i) : at(i) < at(best);
          if (better || (last && at(i) == at(best))) best = i;
        }
        result.push_back(best);
      }
    }
  };
  if (x.ints() != nullptr) {
    run(*x.ints());
  } else if (x.floats() != nullptr) {
    run(*x.floats());
  } else {
    return {};
  }
  Dims dims = x.dims;
  dims[*axis] = 1;
  if (call.int_attribute("keepdims", 1) == 0) dims.erase(dims.begin() + static_cast<int64_t>(*axis));
  return Integers(DType::kInt64, std::move(dims), std::move(result));
}

Outputs ArgMax(const FoldCall& call) { return ArgBest(call, true); }
Outputs ArgMin(const FoldCall& call) { return ArgBest(call, false); }

Outputs CumSum(const FoldCall& call) {
  const Literal& x = *call.value(0);
  std::optional<int64_t> raw_axis = call.scalar(1);
  std::optional<size_t> axis = raw_axis ? NormalAxis(*raw_axis, x.dims.size()) : std::nullopt;
  if (!axis) return {};
  const bool exclusive = call.int_attribute("exclusive", 0) != 0;
  const bool reverse = call.int_attribute("reverse", 0) != 0;
  const AxisSplit split = SplitAt(x.dims, *axis);
  const auto run = [&](auto data) {
    for (int64_t lane = 0; lane < split.outer * split.inner; ++lane) {
      const int64_t first = lane / split.inner * split.length * split.inner + lane % split.inner;
      typename decltype(data)::value_type total = 0;
      for (int64_t i = 0; i < split.length; ++i) {
        auto& element = data[static_cast<size_t>(first + (reverse ? split.length - 1 - i : i) * split.inner)];
        const auto before = total;
        total = Plus()(total, element);
        element = exclusive ? before : total;
      }
    }
    return data;
  };
  if (const std::vector<int64_t>* ints = x.ints()) {
    std::vector<int64_t> result = run(*ints);
    for (int64_t& v : result) v = WrapToInteger(x.dtype, v);
    return Integers(x.dtype, x.dims, std::move(result));
  }
  if (const std::vector<double>* floats = x.floats()) {
    std::vector<double> result = run(*floats);
    for (double& v : result) v = RoundToFloat(x.dtype, v);
    return Floats(x.dtype, x.dims, std::move(result));
  }
  return {};
}

constexpr auto kReductionRows = std::to_array<FoldRow>({
    {"ArgMax", ArgMax},
    {"ArgMin", ArgMin},
    {"CumSum", CumSum},
    {"ReduceL1", ReduceL1},
    {"ReduceL2", ReduceL2},
    {"ReduceLogSum", ReduceLogSum},
    {"ReduceMax", ReduceMax, FoldNeeds::kPartial0},
    {"ReduceMean", ReduceMean},
    {"ReduceMin", ReduceMin, FoldNeeds::kPartial0},
    {"ReduceProd", ReduceProd, FoldNeeds::kPartial0},
    {"ReduceSum", ReduceSum, FoldNeeds::kPartial0},
    {"ReduceSumSquare", ReduceSumSquare},
});

}  // namespace

absl::Span<const FoldRow> ReductionRows() { return kReductionRows; }

}  // namespace onnx_mem::fold
