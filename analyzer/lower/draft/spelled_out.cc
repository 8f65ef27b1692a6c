#include "analyzer/lower/draft/spelled_out.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"

namespace onnx_mem {
namespace {

constexpr auto kCommutative = std::to_array<std::string_view>({"add", "mul", "logical", "maximum", "minimum"});

bool IsCommutative(std::string_view op) {
  return std::find(kCommutative.begin(), kCommutative.end(), op) != kCommutative.end();
}

// Whether nothing outside `nodes` reads what they make, but for the last one's result.
bool IsClosed(const Draft& draft, const std::vector<NodeId>& nodes) {
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    const TensorId result = draft.node(nodes[i]).outputs[0];
    if (draft.IsOutput(result)) return false;
    const std::vector<NodeId>& readers = draft.readers(result);
    const bool inside = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return std::find(nodes.begin(), nodes.end(), reader) != nodes.end();
    });
    if (!inside) return false;
  }
  return true;
}

}  // namespace

Expression::Expression(std::string_view text) {
  size_t at = 0;
  Parse(text, at);
}

size_t Expression::Parse(std::string_view text, size_t& at) {
  Term term{.kind = Kind::kTensor};
  if (at + 1 < text.size() && text[at + 1] == ':') {
    term.name = text[at];
    at += 2;
  }
  const size_t begin = at;
  while (at < text.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  const std::string_view word = text.substr(begin, at - begin);
  if (at < text.size() && text[at] == '(') {
    term.kind = Kind::kOperator;
    term.op = std::string(word);
    ++at;
    while (at < text.size() && text[at] != ')') {
      term.operands.push_back(Parse(text, at));
      if (at < text.size() && text[at] == ',') ++at;
    }
    ++at;
  } else if (word == "_") {
    term.kind = Kind::kNumber;
  } else if (!word.empty()) {
    term.name = word[0];
    if (absl::ascii_isupper(static_cast<unsigned char>(word[0]))) term.kind = Kind::kAgain;
  }
  terms_.push_back(std::move(term));
  return terms_.size() - 1;
}

bool Expression::MatchTerm(const Draft& draft, size_t index, TensorId id, const Node& root, Match& match) const {
  const Term& term = terms_[index];
  if (term.kind == Kind::kNumber) return !id.valid();
  if (!id.valid()) return false;
  if (term.kind == Kind::kTensor) return match.tensors.try_emplace(term.name, id).first->second == id;
  const NodeId producer = draft.producer(id);
  if (!producer.valid()) return false;
  if (term.kind == Kind::kAgain) {
    const auto named = match.named.find(term.name);
    return named != match.named.end() && named->second == producer;
  }
  return MatchOperator(draft, term, producer, root, match);
}

bool Expression::MatchOperator(const Draft& draft, const Term& term, NodeId id, const Node& root, Match& match) const {
  const Node& node = draft.node(id);
  if (node.op != term.op || node.inputs.size() != term.operands.size() || node.calls != root.calls) return false;
  const Match before = match;
  for (const bool swapped : {false, true}) {
    if (swapped && (term.operands.size() != 2 || !IsCommutative(term.op))) return false;
    if (MatchOperands(draft, term, node, swapped, root, match)) {
      if (term.name != 0) match.named[term.name] = id;
      match.nodes.push_back(id);
      return true;
    }
    match = before;
  }
  return false;
}

bool Expression::MatchOperands(const Draft& draft, const Term& term, const Node& node, bool swapped, const Node& root,
                               Match& match) const {
  for (size_t i = 0; i < term.operands.size(); ++i) {
    const TensorId operand = node.inputs[swapped ? 1 - i : i];
    if (!MatchTerm(draft, term.operands[i], operand, root, match)) return false;
  }
  return true;
}

bool Expression::MatchesOpen(const Draft& draft, NodeId root, Match& match) const {
  if (terms_.empty() || terms_.back().kind != Kind::kOperator) return false;
  return MatchOperator(draft, terms_.back(), root, draft.node(root), match);
}

bool Expression::Matches(const Draft& draft, NodeId root, Match& match) const {
  return MatchesOpen(draft, root, match) && IsClosed(draft, match.nodes);
}

NodeId Expression::Match::Find(const Draft& draft, std::string_view op) const {
  const auto it = std::find_if(nodes.begin(), nodes.end(), [&](NodeId id) { return draft.node(id).op == op; });
  return it == nodes.end() ? NodeId() : *it;
}

}  // namespace onnx_mem
