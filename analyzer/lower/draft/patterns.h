// Operators that became several in a file, and what they are found by: a pattern reads like the expression that the
// exporter wrote, over the operators that it lowers to, and what it is fused to like a call.
//
//   {"mul!(x,sigmoid(x))", "silu(x)"}
//   {"div_scalar(mul_scalar(mean{axes=$a,keepdim=$k}(mul(D:sub(x,mean{axes=$a}(x)),D))))",
//   "var{axes=$a,keepdim=$k}(x)"}
//
//   x                a tensor, the same wherever it stands; x? may be left out at the end
//   _                a number that the framework passes as such
//   op(a,b), a|b(x)  an operator; either of two. Sums, products and logic match in either order, op! as written only,
//                    where the order tells who wrote it, unless `Order::kAny` is wanted
//   op(a,0.5)        an operator with a number: its scalar or exponent, to one part in a thousand
//   D:op(a)  D       a name for an operator; D is its result again
//   op(a).1  D.1     its result number 1; result 0 without
//   op{k=1}(a)       an attribute: a number, 'text', [1 2], or $a, which is the same wherever it stands, absent
//   included (A|B)            either of two expressions
//
// Everything between the root and the tensors is read by the expression alone, and ran in one call. Matching takes time
// by the size of the pattern, not of the graph: readers are looked at up to the first outside.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_PATTERNS_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_PATTERNS_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// What the operators of a pattern have in common: a call of a framework operator where the file tells, a call of a
// module, or nothing.
enum class Together { kInOperator, kInModule, kAnywhere };

// kAsWritten: the operands of op! stand as the exporter writes them. kAny: a tool may have swapped them.
enum class Order { kAsWritten, kAny };

// kAny where --no-rewrite operand-order says so.
Order OrderIn(const Run& run);

// A parsed expression. Texts are ours: one that is not of the form above is a fault of the program (`ok`), and matches
// nothing.
class Expression {
 public:
  enum class Kind { kTensor, kNumber, kOperator, kAgain, kEither };
  struct AttributeTerm {
    std::string key;
    char name = 0;  // of $a
    Attribute value = {};
  };
  struct Term {
    Kind kind = Kind::kTensor;
    char name = 0;
    bool may_miss = false;
    bool as_written = false;
    std::vector<OpName> ops = {};
    std::vector<size_t> operands = {};  // of kEither: the expressions
    std::optional<double> number = {};
    std::vector<AttributeTerm> attributes = {};
    size_t output = 0;
  };
  struct Match {
    NodeIds nodes;  // operands before operators, the root last
    std::map<char, TensorId> tensors;
    std::map<char, NodeId> named;
    std::map<char, std::optional<Attribute>> attributes;
  };

  explicit Expression(std::string_view text, Order order = Order::kAsWritten);

  bool ok() const { return ok_; }
  const Term& root() const { return terms_.back(); }
  const Term& term(size_t index) const { return terms_[index]; }
  // Whether the expression ends in `root`; fills `match`. Results of the operators named in `results` may be read by
  // others.
  bool Matches(const Draft& draft, NodeId root, Together together, std::string_view results, Match& match) const;

 private:
  struct Search;
  class Parser;

  bool MatchTerm(const Search& search, size_t index, TensorId id, Match& match) const;
  bool MatchOperator(const Search& search, const Term& term, NodeId id, Match& match) const;
  bool MatchOperands(const Search& search, const Term& term, const Node& node, bool swapped, Match& match) const;

  std::vector<Term> terms_ = {};  // the root last
  bool ok_ = false;
};

// What a pattern cannot say, and what of the fused operator; false where it only looks like it.
using AcceptFn = bool (*)(const Draft& draft, const Expression::Match& match, Node& fused);

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
    Node fused;
  };
  Found FindAt(const Draft& draft, NodeId root) const;
  NodeId FuseAt(Draft& draft, NodeId root) const;

  std::vector<Row> rows_;
  absl::flat_hash_map<OpName, std::vector<size_t>> by_root_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_PATTERNS_H_
