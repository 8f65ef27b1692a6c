// Thompson's construction: K. Thompson, "Regular expression search algorithm", CACM 11 (1968). All states that some way
// of matching is in are advanced together. A look-ahead is an automaton for the reversed pattern that runs once over
// the name from its end, so that every position knows whether the pattern begins there.
#include "analyzer/graph/name_pattern.h"

#include <utility>

#include "analyzer/graph/pattern_text.h"

namespace onnx_mem {
namespace {

using State = NamePattern::State;
using Automaton = NamePattern::Automaton;

// A set of states, emptied at once.
class StateSet {
 public:
  explicit StateSet(size_t size) : mark_(size, 0) {}
  bool Add(int state) {
    uint32_t& mark = mark_[static_cast<size_t>(state)];
    if (mark == round_) return false;
    mark = round_;
    states_.push_back(state);
    return true;
  }
  void Clear() {
    states_.clear();
    ++round_;
  }
  bool empty() const { return states_.empty(); }
  const std::vector<int>& states() const { return states_; }

 private:
  std::vector<int> states_;
  std::vector<uint32_t> mark_;
  uint32_t round_ = 1;
};

class Simulation {
 public:
  Simulation(const Automaton& automaton, const std::vector<NamePattern::Bytes>& sets, std::string_view name,
             const std::vector<std::vector<bool>>& ahead)
      : automaton_(automaton),
        sets_(sets),
        name_(name),
        ahead_(ahead),
        now_(automaton.states.size()),
        next_(automaton.states.size()) {}

  void Enter(size_t at) { Close(automaton_.start, at, now_); }
  bool Accepts() const { return accepts_; }
  bool Dead() const { return now_.empty(); }

  // Over `byte`, which brings it to position `to`.
  void Step(unsigned char byte, size_t to) {
    accepts_ = false;
    next_.Clear();
    for (int id : now_.states()) {
      const State& state = automaton_.states[static_cast<size_t>(id)];
      if (state.kind != State::Kind::kByte || !sets_[static_cast<size_t>(state.index)].test(byte)) continue;
      Close(state.next, to, next_);
    }
    std::swap(now_, next_);
  }

 private:
  bool IsWordAt(size_t at) const { return at < name_.size() && IsWord(static_cast<unsigned char>(name_[at])); }

  bool Holds(const State& state, size_t at) const {
    const bool edge = IsWordAt(at) != (at > 0 && IsWordAt(at - 1));
    switch (state.kind) {
      case State::Kind::kBegin: return at == 0;
      case State::Kind::kEnd: return at == name_.size();
      case State::Kind::kWordEdge: return edge;
      case State::Kind::kNoWordEdge: return !edge;
      case State::Kind::kAhead: return ahead_[static_cast<size_t>(state.index)][at];
      case State::Kind::kNotAhead: return !ahead_[static_cast<size_t>(state.index)][at];
      default: return true;
    }
  }

  // Adds `state` and all that it leads to without a byte.
  void Close(int first, size_t at, StateSet& set) {
    pending_.assign(1, first);
    while (!pending_.empty()) {
      const int id = pending_.back();
      pending_.pop_back();
      if (!set.Add(id)) continue;
      const State& state = automaton_.states[static_cast<size_t>(id)];
      if (state.kind == State::Kind::kAccept) accepts_ = true;
      if (state.kind == State::Kind::kAccept || state.kind == State::Kind::kByte || !Holds(state, at)) continue;
      pending_.push_back(state.next);
      if (state.kind == State::Kind::kSplit) pending_.push_back(state.other);
    }
  }

  const Automaton& automaton_;
  const std::vector<NamePattern::Bytes>& sets_;
  std::string_view name_;
  const std::vector<std::vector<bool>>& ahead_;
  StateSet now_, next_;
  std::vector<int> pending_;
  bool accepts_ = false;
};

}  // namespace

class PatternCompiler {
 public:
  std::optional<NamePattern> Run(const PatternPart& whole) {
    pattern_.whole_ = Build(whole, /*reversed=*/false);
    return total_ > kMostStates ? std::nullopt : std::optional<NamePattern>(std::move(pattern_));
  }

 private:
  Automaton Build(const PatternPart& whole, bool reversed) {
    Automaton automaton;
    const int accept = AddState(automaton, {});
    automaton.start = Add(automaton, whole, accept, reversed);
    return automaton;
  }

  int AddState(Automaton& automaton, State state) {
    if (++total_ > kMostStates) return 0;
    automaton.states.push_back(state);
    return static_cast<int>(automaton.states.size()) - 1;
  }

  // States that match `piece` and go on to `next`; the first of them.
  int Add(Automaton& automaton, const PatternPart& piece, int next, bool reversed) {
    if (total_ > kMostStates) return 0;
    switch (piece.kind) {
      case PatternPart::Kind::kBytes:
        pattern_.sets_.push_back(piece.bytes);
        return AddState(
            automaton,
            {.kind = State::Kind::kByte, .next = next, .index = static_cast<int>(pattern_.sets_.size()) - 1});
      case PatternPart::Kind::kSequence:
        for (size_t i = piece.parts.size(); i-- > 0;) {
          next = Add(automaton, piece.parts[reversed ? piece.parts.size() - 1 - i : i], next, reversed);
        }
        return next;
      case PatternPart::Kind::kChoice: {
        int first = Add(automaton, piece.parts[0], next, reversed);
        for (size_t i = 1; i < piece.parts.size(); ++i) {
          const int other = Add(automaton, piece.parts[i], next, reversed);
          first = AddState(automaton, {.kind = State::Kind::kSplit, .next = first, .other = other});
        }
        return first;
      }
      case PatternPart::Kind::kRepeat: return AddRepeat(automaton, piece, next, reversed);
      case PatternPart::Kind::kAssert: return AddState(automaton, {.kind = piece.assertion, .next = next});
      case PatternPart::Kind::kAhead: break;
    }
    Automaton ahead = Build(piece.parts[0], /*reversed=*/true);
    pattern_.ahead_.push_back(std::move(ahead));
    return AddState(automaton,
                    {.kind = piece.assertion, .next = next, .index = static_cast<int>(pattern_.ahead_.size()) - 1});
  }

  int AddRepeat(Automaton& automaton, const PatternPart& piece, int next, bool reversed) {
    const PatternPart& part = piece.parts[0];
    if (piece.most == kUnbounded) {
      const int again = AddState(automaton, {.kind = State::Kind::kSplit, .other = next});
      const int body = Add(automaton, part, again, reversed);
      if (total_ > kMostStates) return 0;
      automaton.states[static_cast<size_t>(again)].next = body;
      next = again;
    }
    const int end = next;
    for (int i = piece.least; i < piece.most && total_ <= kMostStates; ++i) {
      const int body = Add(automaton, part, next, reversed);
      next = AddState(automaton, {.kind = State::Kind::kSplit, .next = body, .other = end});
    }
    for (int i = 0; i < piece.least && total_ <= kMostStates; ++i) next = Add(automaton, part, next, reversed);
    return next;
  }

  NamePattern pattern_;
  int total_ = 0;
};

std::optional<NamePattern> NamePattern::Compile(std::string_view text) {
  const std::optional<PatternPart> whole = ParsePattern(text);
  return whole ? PatternCompiler().Run(*whole) : std::nullopt;
}

NamePattern::Truths NamePattern::LookAhead(std::string_view name) const {
  Truths truths;
  for (const Automaton& automaton : ahead_) {
    std::vector<bool> begins(name.size() + 1);
    Simulation simulation(automaton, sets_, name, truths);
    for (size_t at = name.size() + 1; at-- > 0;) {
      simulation.Enter(at);
      begins[at] = simulation.Accepts();
      if (at > 0) simulation.Step(static_cast<unsigned char>(name[at - 1]), at - 1);
    }
    truths.push_back(std::move(begins));
  }
  return truths;
}

bool NamePattern::FoundIn(std::string_view name) const {
  const Truths ahead = LookAhead(name);
  Simulation simulation(whole_, sets_, name, ahead);
  for (size_t at = 0;; ++at) {
    simulation.Enter(at);
    if (simulation.Accepts()) return true;
    if (at == name.size()) return false;
    simulation.Step(static_cast<unsigned char>(name[at]), at + 1);
  }
}

bool NamePattern::Matches(std::string_view name) const {
  const Truths ahead = LookAhead(name);
  Simulation simulation(whole_, sets_, name, ahead);
  simulation.Enter(0);
  for (size_t at = 0; at < name.size() && !simulation.Dead(); ++at) {
    simulation.Step(static_cast<unsigned char>(name[at]), at + 1);
  }
  return simulation.Accepts();
}

}  // namespace onnx_mem
