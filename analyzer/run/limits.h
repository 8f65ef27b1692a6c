// Limits on what a small file can expand to. A few hundred bytes of functions that call one another, of loops, or of
// computed constants can stand for more nodes or elements than any memory holds. No known model comes near one of these
// limits. Beyond a limit the program ends with the error too-large, or takes the conservative default where there is
// one.
#ifndef ONNX_MEM_ANALYZER_RUN_LIMITS_H_
#define ONNX_MEM_ANALYZER_RUN_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace onnx_mem::limits {

// Inlining: nodes and bytes that calls of functions make, of so many nodes and bytes in the file. An exporter that
// writes every module as a function makes fewer than twenty nodes of each (nested layers that share one function).
constexpr int64_t InlinedNodes(int64_t stored) { return 20'000 + 20 * stored; }
constexpr int64_t InlinedBytes(int64_t stored) { return (int64_t{8} << 20) + 20 * stored; }

// Graphs within graphs, functions inlined: a file itself cannot hold more than thirty (protobuf's own limit).
inline constexpr int kDeepestGraphs = 64;
// Calls within calls.
inline constexpr int kDeepestCalls = 64;
// Modules within modules, as names and exporters' stacks tell them.
inline constexpr int kDeepestModules = 100;
// Bytes of a name. Python refuses none, but files hold paths and calls.
inline constexpr size_t kLongestName = 16 << 10;
// Whether a name is beyond one of the two; modules end at one of `separators`.
inline bool IsBeyondNames(std::string_view name, std::string_view separators) {
  if (name.size() <= kDeepestModules) return false;  // each module takes a byte and more
  const auto ends = [&](char c) { return separators.find(c) != std::string_view::npos; };
  return name.size() > kLongestName || std::count_if(name.begin(), name.end(), ends) > kDeepestModules;
}

// Dimensions of a tensor: no framework has more (torch and numpy have 64).
inline constexpr int kHighestRank = 64;

// Operators that the nodes of a file become: sums of many operands are one each.
constexpr int64_t LoweredNodes(int64_t stored) { return 20'000 + 20 * stored; }

// Nodes and bytes that loops of known length make when they are written out. Beyond that a loop stays one step.
inline constexpr int64_t kUnrolledNodes = 20'000;
inline constexpr int64_t kUnrolledBytes = int64_t{32} << 20;

// Node inferences in loops that run to learn the shapes of their results; beyond it a body is inferred for any trip.
inline constexpr int64_t kLoopInferences = 4096;
// Node inferences in bodies, after which none runs until its carried values settle any more: those start unknown.
inline constexpr int64_t kSettlingInferences = 10'000;
// Elements of constants that folding reads in large values (a Swin transformer at batch 64 has 2 million), and makes.
// Beyond it contents are unknown.
inline constexpr int64_t kFoldedElements = int64_t{1} << 25;
inline constexpr int64_t kMadeElements = int64_t{1} << 23;

// Steps of a forward of so many framework operators: a recurrence takes ten for each position.
constexpr int64_t ForwardSteps(int64_t nodes) { return 200'000 + 200 * nodes; }
// Positions of a recurrence of one layer; of more the operator is counted as one that has no rule.
inline constexpr int64_t kRecurrentPositions = int64_t{1} << 14;

// Tensors named by all lists together; beyond it a list is unknown.
inline constexpr int64_t kListedTensors = int64_t{1} << 20;

// Bytes of all tensors of a run together: a hundredth of what 63 bits hold, so that no sum over a step overflows.
inline constexpr int64_t kTensorBytes = int64_t{1} << 56;

}  // namespace onnx_mem::limits

#endif  // ONNX_MEM_ANALYZER_RUN_LIMITS_H_
