#include "analyzer/onnx/rebatch/trace.h"

#include <algorithm>

namespace onnx_mem {
namespace {

// The batch comes first; small primes for the others keep index vectors of probe size short enough to be folded.
constexpr std::array<int64_t, kMostVariables> kPrimes = {101, 13, 17, 19};
constexpr int kHighestPower = 4;

// Dims of size 1 that stand after `cut` elements.
absl::InlinedVector<size_t, 6> OnesAt(const Dims& dims, int64_t cut) {
  absl::InlinedVector<size_t, 6> ones;
  int64_t left = 1;
  for (size_t i = 0; i < dims.size() && left <= cut; left *= dims[i], ++i) {
    if (left == cut && dims[i] == 1) ones.push_back(i);
  }
  return ones;
}

// The dim of `to` that can hold a variable whose exported size is 1 and which stands after `cut` elements, as dim `at`
// of `from`.
std::optional<size_t> HolderOfOne(const Dims& from, size_t at, const Dims& to, int64_t cut) {
  const auto ones = OnesAt(to, cut);
  const auto before = OnesAt(from, cut);
  if (!ones.empty()) {
    const auto place = std::find(before.begin(), before.end(), at) - before.begin();
    return ones.size() == before.size() && place < std::ssize(ones) ? ones[static_cast<size_t>(place)] : ones.front();
  }
  std::optional<size_t> begins, ends;
  int64_t left = 1;
  for (size_t i = 0; i < to.size() && left <= cut; left *= to[i], ++i) {
    const int64_t right = left * to[i];
    if (left < cut && right > cut) return cut % left == 0 && right % cut == 0 ? std::optional(i) : std::nullopt;
    if (left == cut) begins = i;
    if (right == cut) ends = i;
  }
  if (begins && (*begins + 1 < to.size() || !ends)) return begins;
  return ends ? ends : begins;
}

// The same for a variable of size > 1: its factor must lie within one dim, with whole numbers on both sides.
std::optional<size_t> HolderOf(const Dims& to, int64_t cut, int64_t size) {
  int64_t left = 1;
  for (size_t i = 0; i < to.size() && left <= cut; left *= to[i], ++i) {
    const int64_t right = left * to[i];
    if (cut % left == 0 && right % cut == 0 && (right / cut) % size == 0) return i;
  }
  return std::nullopt;
}

}  // namespace

bool AllOfSizeOne(const Traces& traces, const Dims& dims) {
  for (size_t d = 0; d < traces.size(); ++d) {
    if (traces[d].any() && dims[d] != 1) return false;
  }
  return true;
}

bool Merge(const Traces& more, Traces& traces) {
  bool changed = traces.size() < more.size();
  traces.resize(std::max(traces.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i) {
    if (!more[i].any() || traces[i].any()) continue;
    traces[i] = more[i];
    changed = true;
  }
  return changed;
}

bool AnyScaled(const Traces& traces) {
  return std::any_of(traces.begin(), traces.end(), [](const Trace& trace) { return trace.any(); });
}

std::optional<int64_t> Scaled(int64_t base, const Trace& trace, const Variables& variables, Sizes sizes) {
  int64_t divisor = 1;
  for (size_t k = 0; k < variables.size(); ++k) {
    for (int i = 0; i < trace.power[k]; ++i) {
      const auto product = CheckedMul(base, sizes == Sizes::kTarget ? variables[k].to : kPrimes[k]);
      const auto divided = CheckedMul(divisor, sizes == Sizes::kTarget ? variables[k].from : 1);
      if (!product || !divided) return std::nullopt;
      base = *product;
      divisor = *divided;
    }
  }
  return base % divisor == 0 ? std::optional(base / divisor) : std::nullopt;
}

std::optional<Dims> Scaled(const Dims& base, const Traces& traces, const Variables& variables, Sizes sizes) {
  Dims dims;
  for (size_t i = 0; i < base.size(); ++i) {
    const std::optional<int64_t> dim = Scaled(base[i], i < traces.size() ? traces[i] : Trace(), variables, sizes);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

std::optional<Trace> TraceOf(int64_t base, int64_t probe, const Variables& variables) {
  Trace trace;
  if (base == probe) return trace;
  if (base <= 0 || probe <= 0 || probe % base != 0) return std::nullopt;
  int64_t ratio = probe / base;
  for (size_t k = 0; k < variables.size(); ++k) {
    for (; ratio % kPrimes[k] == 0 && trace.power[k] < kHighestPower; ratio /= kPrimes[k]) ++trace.power[k];
  }
  return ratio == 1 ? std::optional(trace) : std::nullopt;
}

std::optional<Traces> TracesOf(const Dims& base, const Dims& probe, const Variables& variables) {
  if (base.size() != probe.size()) return std::nullopt;
  Traces traces;
  for (size_t i = 0; i < base.size(); ++i) {
    const std::optional<Trace> trace = TraceOf(base[i], probe[i], variables);
    if (!trace) return std::nullopt;
    traces.push_back(*trace);
  }
  return traces;
}

std::optional<Traces> Reshaped(const Dims& from, const Traces& traces, const Dims& to, const Variables& variables) {
  Traces result(to.size());
  if (!AnyScaled(traces)) return result;
  const std::optional<int64_t> count = NumElements(Shape(from));
  if (!count || *count == 0 || count != NumElements(Shape(to))) return std::nullopt;
  int64_t left = 1;
  for (size_t i = 0; i < from.size(); left *= from[i], ++i) {
    for (size_t k = 0; k < variables.size(); ++k) {
      if (traces[i].power[k] == 0) continue;
      const int64_t cut = left * traces[i].outer[k];
      const int64_t size = variables[k].from;
      const std::optional<size_t> holder = size == 1 ? HolderOfOne(from, i, to, cut) : HolderOf(to, cut, size);
      // Two powers of one variable in a dim cannot be distinguished: they must stay together.
      if (!holder || (traces[i].power[k] > 1 && to[*holder] != from[i])) return std::nullopt;
      int64_t before = 1;
      for (size_t j = 0; j < *holder; ++j) before *= to[j];
      Trace& trace = result[*holder];
      trace.power[k] = static_cast<int8_t>(trace.power[k] + traces[i].power[k]);
      trace.outer[k] = cut / before;
    }
  }
  return result;
}

}  // namespace onnx_mem
