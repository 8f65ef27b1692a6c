// Operators that exporters spell out, found by expressions over the operators that the spelling lowers to:
//
//   "div_scalar(mul_scalar(mean(mul(D:sub(x,mean(x)),D))))"   Tensor.var(unbiased=True)
//
// A small letter is a tensor, the same wherever it stands; D: names an operator, and D is it again; _ is a number that
// the framework passes as such. Sums, products and logic match in either order. Everything between the root and the
// tensors must be read by the expression alone and have run in one module call.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_SPELLED_OUT_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_SPELLED_OUT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// A parsed expression. Texts are ours: one that is not of the form above is a fault of the program, and matches
// nothing.
class Expression {
 public:
  explicit Expression(std::string_view text);

  std::string_view root_op() const { return terms_.empty() ? std::string_view() : terms_.back().op; }

  struct Match {
    std::vector<NodeId> nodes;  // operands before operators, the root last
    std::map<char, TensorId> tensors;
    std::map<char, NodeId> named;

    // The first of the matched operators that is an `op`; invalid if there is none.
    NodeId Find(const Draft& draft, std::string_view op) const;
  };
  // Whether the expression ends in `root`; fills `match`.
  bool Matches(const Draft& draft, NodeId root, Match& match) const;
  // The same where others may read what is between.
  bool MatchesOpen(const Draft& draft, NodeId root, Match& match) const;

 private:
  enum class Kind { kTensor, kNumber, kOperator, kAgain };
  struct Term {
    Kind kind;
    char name = 0;
    std::string op = {};
    std::vector<size_t> operands = {};
  };

  size_t Parse(std::string_view text, size_t& at);
  bool MatchTerm(const Draft& draft, size_t term, TensorId id, const Node& root, Match& match) const;
  bool MatchOperator(const Draft& draft, const Term& term, NodeId id, const Node& root, Match& match) const;
  bool MatchOperands(const Draft& draft, const Term& term, const Node& node, bool swapped, const Node& root,
                     Match& match) const;

  std::vector<Term> terms_;  // the root last
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_SPELLED_OUT_H_
