#include "analyzer/lower/draft/expression.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

using Match = Expression::Match;

bool IsWordChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }

bool IsAbout(double value, double number) { return std::abs(value - number) <= 1e-3 * std::abs(number); }

std::optional<double> NumberOf(const FrameworkNode& node) {
  const auto exponent = node.attributes.find("exponent");
  const auto* value = exponent == node.attributes.end() ? nullptr : std::get_if<double>(&exponent->second);
  return value != nullptr ? std::optional(*value) : ScalarOf(node);
}

bool IsEqual(const Attribute& has, const Attribute& wanted) {
  const auto* a = std::get_if<double>(&has);
  const auto* b = std::get_if<double>(&wanted);
  return a != nullptr && b != nullptr ? IsAbout(*a, *b) : has == wanted;
}

bool MatchAttributes(const Expression::Term& term, const FrameworkNode& node, Match& match) {
  return std::all_of(term.attributes.begin(), term.attributes.end(), [&](const auto& wanted) {
    const auto it = node.attributes.find(wanted.key);
    const bool has = it != node.attributes.end();
    if (wanted.name == 0) return has && IsEqual(it->second, wanted.value);
    const std::optional<Attribute> value = has ? std::optional(it->second) : std::nullopt;
    return match.attributes.try_emplace(wanted.name, value).first->second == value;
  });
}

// Whether nothing outside of `match` reads what it makes, but for the results of the root and of `results`.
bool IsClosed(const Draft& draft, const Match& match, std::string_view results) {
  const auto is_result = [&](NodeId id) {
    return id == match.nodes.back() || std::any_of(results.begin(), results.end(), [&](char name) {
             const auto named = match.named.find(name);
             return named != match.named.end() && named->second == id;
           });
  };
  const auto is_inside = [&](NodeId reader) {
    return std::find(match.nodes.begin(), match.nodes.end(), reader) != match.nodes.end();
  };
  return std::all_of(match.nodes.begin(), match.nodes.end(), [&](NodeId id) {
    const TensorIds& outputs = draft.node(id).outputs;
    return is_result(id) || std::all_of(outputs.begin(), outputs.end(), [&](TensorId made) {
             if (!made.valid()) return true;
             const NodeIds& readers = draft.readers(made);
             return !draft.IsOutput(made) && std::all_of(readers.begin(), readers.end(), is_inside);
           });
  });
}

}  // namespace

// --- reading the text

class Expression::Parser {
 public:
  Parser(std::string_view text, std::vector<Term>& terms) : text_(text), terms_(terms) {}

  bool Parse() {
    ReadTerm();
    return ok_ && at_ == text_.size() && !terms_.empty();
  }

 private:
  char Now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Now() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) { ok_ &= Take(c); }
  template <class In>
  std::string_view While(In is_in) {
    const size_t begin = at_;
    while (at_ < text_.size() && is_in(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view Word() { return While(IsWordChar); }

  size_t ReadTerm() {
    Term term;
    if (at_ + 1 < text_.size() && text_[at_ + 1] == ':') {
      term.name = text_[at_];
      at_ += 2;
    }
    if (Take('(')) {
      term.kind = Kind::kEither;
      do {
        term.operands.push_back(ReadTerm());
      } while (ok_ && Take('|'));
      Expect(')');
    } else {
      ReadWords(term);
    }
    if (Take('.')) ok_ &= absl::SimpleAtoi(View(Word()), &term.output);
    terms_.push_back(std::move(term));
    return terms_.size() - 1;
  }

  void ReadWords(Term& term) {
    const std::string_view word = Word();
    if (word == "_") {
      term.kind = Kind::kNumber;
    } else if (word.size() == 1 && Now() != '(' && Now() != '{') {
      term.kind = IsUpper(word[0]) ? Kind::kAgain : Kind::kTensor;
      term.name = word[0];
      term.may_miss = Take('?');
    } else {
      term.kind = Kind::kOperator;
      term.ops.emplace_back(word);
      while (ok_ && Take('|')) term.ops.emplace_back(Word());
      term.as_written = Take('!');
      if (Take('{')) ReadAttributes(term);
      ReadOperands(term);
    }
    ok_ &= !word.empty();
  }

  void ReadAttributes(Term& term) {
    do {
      AttributeTerm attribute{.key = std::string(Word())};
      Expect('=');
      ReadValue(attribute);
      term.attributes.push_back(std::move(attribute));
    } while (ok_ && Take(','));
    Expect('}');
  }

  void ReadValue(AttributeTerm& attribute) {
    if (Take('$')) {
      attribute.name = Now();
      ++at_;
    } else if (Take('\'')) {
      attribute.value = std::string(While([](char c) { return c != '\''; }));
      Expect('\'');
    } else if (Take('[')) {
      std::vector<int64_t> list;
      for (absl::string_view part :
           absl::StrSplit(View(While([](char c) { return c != ']'; })), ' ', absl::SkipEmpty()))
        ok_ &= absl::SimpleAtoi(part, &list.emplace_back());
      attribute.value = std::move(list);
      Expect(']');
    } else {
      const double number = ReadNumber();
      attribute.value = static_cast<int64_t>(number);
      if (std::floor(number) != number) attribute.value = number;
    }
  }

  static bool IsNumberChar(char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.' || c == '-';
  }

  double ReadNumber() {
    double number = 0;
    ok_ &= absl::SimpleAtod(View(While(IsNumberChar)), &number);
    return number;
  }

  void ReadOperands(Term& term) {
    Expect('(');
    while (ok_ && Now() != ')') {
      if (IsNumberChar(Now())) {
        term.number = ReadNumber();
      } else {
        term.operands.push_back(ReadTerm());
      }
      if (Now() != ')') Expect(',');
    }
    Expect(')');
  }

  std::string_view text_;
  std::vector<Term>& terms_;
  size_t at_ = 0;
  bool ok_ = true;
};

Order OrderIn(const Run& run) {
  const auto& off = run.disabled_rewrites;
  return std::find(off.begin(), off.end(), "operand-order") == off.end() ? Order::kAsWritten : Order::kAny;
}

Expression::Expression(std::string_view text, Order order) {
  ok_ = Parser(text, terms_).Parse();
  for (Term& term : terms_) term.as_written = term.as_written && order == Order::kAsWritten;
}

// --- matching

struct Expression::Search {
  const Draft& draft;
  const FrameworkNode& root;
  Together together;

  bool IsTogether(const FrameworkNode& node) const {
    if (together == Together::kInOperator && node.framework_op != root.framework_op) return false;
    return together == Together::kAnywhere || node.calls == root.calls;
  }
};

bool Expression::MatchTerm(const Search& search, size_t index, TensorId id, Match& match) const {
  const Term& term = terms_[index];
  if (term.kind == Kind::kNumber) return !id.valid();
  if (term.kind == Kind::kTensor) {
    if (!id.valid() && !term.may_miss) return false;
    return match.tensors.try_emplace(term.name, id).first->second == id;
  }
  if (term.kind == Kind::kEither) {
    const Match before = match;
    for (size_t either : term.operands) {
      if (MatchTerm(search, either, id, match)) return true;
      match = before;
    }
    return false;
  }
  const NodeId producer = search.draft.producer(id);
  if (!producer.valid()) return false;
  const TensorIds& outputs = search.draft.node(producer).outputs;
  if (term.output >= outputs.size() || outputs[term.output] != id) return false;
  if (term.kind == Kind::kAgain) {
    const auto named = match.named.find(term.name);
    return named != match.named.end() && named->second == producer;
  }
  return MatchOperator(search, term, producer, match);
}

bool Expression::MatchOperator(const Search& search, const Term& term, NodeId id, Match& match) const {
  const FrameworkNode& node = search.draft.node(id);
  if (std::find(term.ops.begin(), term.ops.end(), node.op) == term.ops.end()) return false;
  if (node.inputs.size() > term.operands.size() || !search.IsTogether(node)) return false;
  if (term.number && !IsAbout(NumberOf(node).value_or(NAN), *term.number)) return false;
  const Match before = match;
  const bool turns = !term.as_written && node.inputs.size() == 2 && Commutes(node.op);
  for (const bool swapped : {false, true}) {
    if (swapped && !turns) return false;
    if (MatchAttributes(term, node, match) && MatchOperands(search, term, node, swapped, match)) {
      if (term.name != 0) match.named[term.name] = id;
      // An operator that two places of an expression spell out is one.
      if (std::find(match.nodes.begin(), match.nodes.end(), id) == match.nodes.end()) match.nodes.push_back(id);
      return true;
    }
    match = before;
  }
  return false;
}

bool Expression::MatchOperands(const Search& search, const Term& term, const FrameworkNode& node, bool swapped,
                               Match& match) const {
  for (size_t i = 0; i < term.operands.size(); ++i) {
    const size_t slot = swapped ? 1 - i : i;
    const Term& operand = terms_[term.operands[i]];
    if (slot >= node.inputs.size() && !operand.may_miss) return false;
    const TensorId id = slot < node.inputs.size() ? node.inputs[slot] : TensorId();
    if (!MatchTerm(search, term.operands[i], id, match)) return false;
  }
  return true;
}

bool Expression::Matches(const Draft& draft, NodeId root, Together together, std::string_view results,
                         Match& match) const {
  if (!ok_ || terms_.back().kind != Kind::kOperator) return false;
  const Search search{draft, draft.node(root), together};
  return MatchOperator(search, terms_.back(), root, match) && IsClosed(draft, match, results);
}

}  // namespace onnx_mem
