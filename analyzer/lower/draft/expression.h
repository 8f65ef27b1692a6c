// The language of patterns (patterns.h): what one expression of it says, and where a draft holds it.
//
//   x                a tensor, the same wherever it stands; x? may be left out at the end
//   _                a number that the framework passes as such
//   op(a,b), a|b(x)  an operator; either of two. Sums, products and logic match in either order, op! as written only,
//                    where the order tells who wrote it, unless `Order::kAny` is wanted
//   op(a,0.5)        an operator with a number: its scalar or exponent, to one part in a thousand
//   D:op(a)  D       a name for an operator; D is its result again
//   op(a).1  D.1     its result number 1; result 0 without
//   op{k=1}(a)       an attribute: a number, 'text', [1 2], or $a, which is the same wherever it stands, or nowhere
//   (A|B)            either of two expressions
//
// Everything between the root and the tensors is read by the expression alone, and ran in one call. Matching takes time
// by the size of the pattern, not of the graph: readers are looked at up to the first outside.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_EXPRESSION_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_EXPRESSION_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  bool MatchOperands(const Search& search, const Term& term, const FrameworkNode& node, bool swapped,
                     Match& match) const;

  std::vector<Term> terms_ = {};  // the root last
  bool ok_ = false;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_EXPRESSION_H_
