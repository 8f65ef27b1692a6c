// Operators that became several in a file, and what they are found by: a pattern reads like the expression that the
// exporter wrote, over the operators that it lowers to, and what it is fused to like a call.
//
//   {"mul!(x,sigmoid(x))", "silu(x)"}
//   {"div_scalar(mul_scalar(mean{axes=$a,keepdim=$k}(mul(D:sub(x,mean{axes=$a}(x)),D))))",
//   "var{axes=$a,keepdim=$k}(x)"}
//
// expression.h has the language.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_PATTERNS_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_PATTERNS_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/lower/draft/expression.h"

namespace onnx_mem {

// What a pattern cannot say, and what of the fused operator; false where it only looks like it.
using AcceptFn = bool (*)(const Draft& draft, const Expression::Match& match, FrameworkNode& fused);

struct Pattern {
  std::string_view expression;
  // The call. A named operator, "P:linear(x,w,b)", keeps the attributes, the name and the place of that one.
  std::string_view fused;
  AcceptFn accept = nullptr;
  Together together = Together::kInOperator;
  std::string_view results = {};  // names of operators whose results it gives, the root's last or alone
};

// A parsed table; of two that match at one place the first does.
class Patterns {
 public:
  explicit Patterns(std::span<const Pattern> rows, Order order = Order::kAsWritten);

  bool ok() const;
  // Fuses all, a root before the roots inside it. The operators that it made and that no other took in.
  NodeIds Fuse(Draft& draft) const;
  // The roots of all places of the draft that match.
  NodeIds Find(const Draft& draft) const;

 private:
  struct Row {
    Pattern pattern;
    Expression expression, fused;
  };

  // A row that matches at `root`, and what it makes of it.
  struct Found {
    const Row* row = nullptr;  // null: none
    Expression::Match match;
    FrameworkNode fused;
  };
  Found FindAt(const Draft& draft, NodeId root) const;
  NodeId FuseAt(Draft& draft, NodeId root) const;

  std::vector<Row> rows_;
  absl::flat_hash_map<OpName, std::vector<size_t>> by_root_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_PATTERNS_H_
