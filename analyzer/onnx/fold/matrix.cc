// MatMul of small constants: position tables and masks that exporters compute in the graph.
#include <array>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem::fold {
namespace {

constexpr int64_t kMaxProducts = int64_t{1} << 20;  // multiplications worth doing while shapes are inferred

// Both operands as stacks of matrices [rows, depth] and [depth, columns].
struct Problem {
  Dims dims;  // of the result
  int64_t rows = 1;
  int64_t depth = 1;
  int64_t columns = 1;
  std::vector<int64_t> a_starts;  // offset of each matrix of the stack, in matrices
  std::vector<int64_t> b_starts;
};

std::optional<Problem> ProblemOf(const Dims& a_dims, const Dims& b_dims) {
  if (a_dims.empty() || b_dims.empty()) return std::nullopt;
  const bool a_vector = a_dims.size() == 1;
  const bool b_vector = b_dims.size() == 1;
  Problem problem;
  problem.rows = a_vector ? 1 : a_dims[a_dims.size() - 2];
  problem.depth = a_dims.back();
  problem.columns = b_vector ? 1 : b_dims.back();
  if (problem.depth != (b_vector ? b_dims[0] : b_dims[b_dims.size() - 2])) return std::nullopt;
  const Dims a_stack(a_dims.begin(), a_dims.end() - (a_vector ? 1 : 2));
  const Dims b_stack(b_dims.begin(), b_dims.end() - (b_vector ? 1 : 2));
  std::optional<Dims> stack = BroadcastDims({&a_stack, &b_stack});
  if (!stack) return std::nullopt;
  problem.a_starts = BroadcastOffsets(a_stack, *stack);
  problem.b_starts = BroadcastOffsets(b_stack, *stack);
  problem.dims = *stack;
  if (!a_vector) problem.dims.push_back(problem.rows);
  if (!b_vector) problem.dims.push_back(problem.columns);
  std::optional<int64_t> count = Count(problem.dims);
  if (!count || *count * std::max<int64_t>(problem.depth, 1) > kMaxProducts) return std::nullopt;
  return problem;
}

template <class T>
std::vector<T> Multiply(const Problem& problem, const std::vector<T>& a, const std::vector<T>& b) {
  // Wrapping arithmetic for integers: overflow of what a file holds is not ours to fault.
  using Work = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, double>;
  std::vector<T> result;
  for (size_t m = 0; m < problem.a_starts.size(); ++m) {
    const int64_t a_at = problem.a_starts[m] * problem.rows * problem.depth;
    const int64_t b_at = problem.b_starts[m] * problem.depth * problem.columns;
    for (int64_t row = 0; row < problem.rows; ++row) {
      for (int64_t column = 0; column < problem.columns; ++column) {
        Work sum = 0;
        for (int64_t k = 0; k < problem.depth; ++k) {
          sum += static_cast<Work>(a[static_cast<size_t>(a_at + row * problem.depth + k)]) *
                 static_cast<Work>(b[static_cast<size_t>(b_at + k * problem.columns + column)]);
        }
        result.push_back(static_cast<T>(sum));
      }
    }
  }
  return result;
}

Outputs MatMul(const FoldCall& call) {
  const Literal& a = *call.value(0);
  const Literal* b = call.value(1);
  if (b == nullptr || a.dtype != b->dtype) return {};
  std::optional<Problem> problem = ProblemOf(a.dims, b->dims);
  if (!problem) return {};
  if (a.floats() != nullptr) {
    std::vector<double> result = Multiply(*problem, *a.floats(), *b->floats());
    for (double& v : result) v = RoundToFloat(a.dtype, v);
    return Floats(a.dtype, problem->dims, std::move(result));
  }
  if (a.ints() == nullptr) return {};
  std::vector<int64_t> result = Multiply(*problem, *a.ints(), *b->ints());
  for (int64_t& v : result) v = WrapToInteger(a.dtype, v);
  return Integers(a.dtype, problem->dims, std::move(result));
}

constexpr auto kMatrixRows = std::to_array<FoldRow>({
    {"MatMul", MatMul},
});

}  // namespace

absl::Span<const FoldRow> MatrixRows() { return kMatrixRows; }

}  // namespace onnx_mem::fold
