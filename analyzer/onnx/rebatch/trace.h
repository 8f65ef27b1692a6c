// Where the batch (or another fixed input dimension) sits in a shape, so that a shape exported at one batch can be
// written for another.
//
// The model is inferred at the exported sizes (base) and at sizes in which the dimension to be changed is multiplied by
// a prime (probe). A dim of a value then carries the dimension as often as the prime divides probe / base; a dim that
// is neither equal nor a multiple by such a factor depends on it in another way, and the file cannot be rewritten.
//
//   base [2, 17, 64]   probe [202, 17, 64]   trace [batch, -, -]
//   Reshape to [34, 64]                      trace [batch, -]      3434 = 34 * 101
//
// A dim that merges several remembers how many elements stand outside the batch in it (`outer`), so that a later
// Reshape can take it apart at the right place even where the exported batch was 1.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_TRACE_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_TRACE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {

inline constexpr size_t kMostVariables = 4;

// A fixed size of the inputs that is requested to be another.
struct Variable {
  int64_t from = 1;
  int64_t to = 1;
};
using Variables = std::vector<Variable>;  // at most kMostVariables

// Sizes are carried over from the exported ones by one of two factors per variable.
enum class Sizes : uint8_t { kProbe, kTarget };

// How one dim depends on each variable: it is base * factor^power.
struct Trace {
  std::array<int8_t, kMostVariables> power{};
  std::array<int64_t, kMostVariables> outer{1, 1, 1,
                                            1};  // elements outside the variable within this dim, where power > 0

  bool any() const { return power != std::array<int8_t, kMostVariables>{}; }
  bool SamePower(const Trace& other) const { return power == other.power; }
};
using Traces = absl::InlinedVector<Trace, 6>;

bool AnyScaled(const Traces& traces);
// Whether the exported size is 1 wherever a variable is carried.
bool AllOfSizeOne(const Traces& traces, const Dims& dims);
// Adds the traces of `more` to those dims of `traces` that have none. Returns whether any was new.
bool Merge(const Traces& more, Traces& traces);

// `base` as it is at the probe or the target; nullopt on overflow, or where the target is no whole number.
std::optional<int64_t> Scaled(int64_t base, const Trace& trace, const Variables& variables, Sizes sizes);
std::optional<Dims> Scaled(const Dims& base, const Traces& traces, const Variables& variables, Sizes sizes);

// How `probe` follows from `base` (outer is 1 everywhere); nullopt where it does in no such way.
std::optional<Trace> TraceOf(int64_t base, int64_t probe, const Variables& variables);
std::optional<Traces> TracesOf(const Dims& base, const Dims& probe, const Variables& variables);

// The traces of `to`, which has the elements of `from` in the same order; nullopt where a variable would have to be
// cut or no dim of `to` can hold it. Where the exported size is 1, a dim of 1 at the variable's place is taken, else
// the dim that begins there unless that is the last one (features), else the dim that ends there.
std::optional<Traces> Reshaped(const Dims& from, const Traces& traces, const Dims& to, const Variables& variables);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_TRACE_H_
