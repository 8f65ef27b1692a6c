// Thompson's construction: K. Thompson, "Regular expression search algorithm", CACM 11 (1968). All states that some way
// of matching is in are advanced together. A look-ahead is an automaton for the reversed pattern that runs once over
// the name from its end, so that every position knows whether the pattern begins there.
#include "analyzer/graph/name_pattern.h"

#include <array>
#include <cctype>
#include <utility>

namespace onnx_mem {
namespace {

using Bytes = NamePattern::Bytes;
using State = NamePattern::State;
using Automaton = NamePattern::Automaton;

constexpr int kMostStates = 20'000;
constexpr int kDeepestGroup = 200;
constexpr int kUnbounded = -1;

// A part of a pattern.
struct Piece {
  enum class Kind : uint8_t { kBytes, kSequence, kChoice, kRepeat, kAssert, kAhead };
  Kind kind = Kind::kSequence;  // without parts: the empty one
  Bytes bytes = {};
  std::vector<Piece> parts = {};
  int least = 0, most = kUnbounded;             // kRepeat
  State::Kind assertion = State::Kind::kBegin;  // kAssert, kAhead
};

template <class Predicate>
Bytes BytesThat(Predicate is) {
  Bytes bytes;
  for (int c = 0; c < 256; ++c) {
    if (is(c)) bytes.set(static_cast<size_t>(c));
  }
  return bytes;
}

size_t First(const Bytes& bytes) {
  size_t first = 0;
  while (first < bytes.size() && !bytes.test(first)) ++first;
  return first;
}

bool IsWord(int c) { return c < 128 && (std::isalnum(c) != 0 || c == '_'); }

Bytes Digits() {
  return BytesThat([](int c) { return c >= '0' && c <= '9'; });
}
Bytes Words() { return BytesThat(IsWord); }
Bytes Spaces() {
  return BytesThat([](int c) { return c < 128 && std::isspace(c) != 0; });
}

struct NamedClass {
  std::string_view name;
  int (*is)(int);
};
constexpr auto kClasses = std::to_array<NamedClass>({
    {"alnum", std::isalnum},
    {"alpha", std::isalpha},
    {"blank", std::isblank},
    {"cntrl", std::iscntrl},
    {"d", std::isdigit},
    {"digit", std::isdigit},
    {"graph", std::isgraph},
    {"lower", std::islower},
    {"print", std::isprint},
    {"punct", std::ispunct},
    {"s", std::isspace},
    {"space", std::isspace},
    {"upper", std::isupper},
    {"xdigit", std::isxdigit},
});

// A pattern's text -> its parts.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Piece> Run() {
    Piece whole = Choice(0);
    if (at_ < text_.size()) failed_ = true;  // a ")" too many
    return failed_ ? std::nullopt : std::optional<Piece>(std::move(whole));
  }

 private:
  bool Take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  Piece Fail() {
    failed_ = true;
    at_ = text_.size();
    return {};
  }

  Piece Choice(int depth) {
    if (depth > kDeepestGroup) return Fail();
    Piece choice{.kind = Piece::Kind::kChoice};
    do {
      Piece sequence;
      while (!AtEnd() && text_[at_] != '|' && text_[at_] != ')') sequence.parts.push_back(Repeated(depth));
      choice.parts.push_back(std::move(sequence));
    } while (Take("|"));
    return choice;
  }

  Piece Repeated(int depth) {
    Piece piece = Atom(depth);
    int least = 0, most = kUnbounded;
    while (!failed_ && Quantifier(least, most)) {
      Piece repeat{.kind = Piece::Kind::kRepeat, .least = least, .most = most};
      if (piece.kind == Piece::Kind::kAssert) return Fail();
      repeat.parts.push_back(std::move(piece));
      piece = std::move(repeat);
    }
    return piece;
  }

  bool Quantifier(int& least, int& most) {
    least = 0;
    most = kUnbounded;
    if (Take("+")) {
      least = 1;
    } else if (Take("?")) {
      most = 1;
    } else if (Take("{")) {
      if (!Count(least)) return false;
      most = least;
      if (Take(",")) {
        most = kUnbounded;
        if (!AtEnd() && text_[at_] != '}' && !Count(most)) return false;
      }
      if (!Take("}") || (most != kUnbounded && most < least)) Fail();
    } else if (!Take("*")) {
      return false;
    }
    Take("?");  // whether the shortest or the longest match is taken changes nothing here
    return !failed_;
  }

  bool Count(int& count) {
    const size_t begin = at_;
    for (count = 0; !AtEnd() && text_[at_] >= '0' && text_[at_] <= '9' && count <= kMostStates; ++at_) {
      count = count * 10 + (text_[at_] - '0');
    }
    if (at_ == begin || count > kMostStates) Fail();
    return !failed_;
  }

  Piece Group(int depth) {
    Piece group;
    const bool ahead = Take("?="), not_ahead = !ahead && Take("?!");
    if (ahead || not_ahead) {
      group.kind = Piece::Kind::kAhead;
      group.assertion = ahead ? State::Kind::kAhead : State::Kind::kNotAhead;
    } else if (!Take("?:") && !AtEnd() && text_[at_] == '?') {
      return Fail();
    }
    group.parts.push_back(Choice(depth + 1));
    return Take(")") ? group : Fail();
  }

  Piece Atom(int depth) {
    const char c = text_[at_++];
    switch (c) {
      case '(': return Group(depth);
      case '^': return {.kind = Piece::Kind::kAssert, .assertion = State::Kind::kBegin};
      case '$': return {.kind = Piece::Kind::kAssert, .assertion = State::Kind::kEnd};
      case '.': return {.kind = Piece::Kind::kBytes, .bytes = BytesThat([](int b) { return b != '\n' && b != '\r'; })};
      case '[': return Class();
      case '\\': return Escape();
      case '*':
      case '+':
      case '?':
      case '{': return Fail();
      default: return One(c);
    }
  }

  static Piece One(char c) {
    Piece piece{.kind = Piece::Kind::kBytes};
    piece.bytes.set(static_cast<unsigned char>(c));
    return piece;
  }

  Piece Escape() {
    if (AtEnd()) return Fail();
    if (Take("b")) return {.kind = Piece::Kind::kAssert, .assertion = State::Kind::kWordEdge};
    if (Take("B")) return {.kind = Piece::Kind::kAssert, .assertion = State::Kind::kNoWordEdge};
    if (text_[at_] >= '1' && text_[at_] <= '9') return Fail();  // what a group matched before
    return {.kind = Piece::Kind::kBytes, .bytes = EscapedBytes()};
  }

  // Behind a backslash: a set, or one byte.
  Bytes EscapedBytes() {
    Bytes one;
    const char c = text_[at_++];
    switch (c) {
      case 'd': return Digits();
      case 'D': return ~Digits();
      case 'w': return Words();
      case 'W': return ~Words();
      case 's': return Spaces();
      case 'S': return ~Spaces();
      case 'n': one.set('\n'); break;
      case 'r': one.set('\r'); break;
      case 't': one.set('\t'); break;
      case 'f': one.set('\f'); break;
      case 'v': one.set('\v'); break;
      case '0': one.set(0); break;
      case 'x': one.set(HexByte(2)); break;
      case 'u': one.set(HexByte(4)); break;
      case 'c': one.set(AtEnd() ? 0 : static_cast<unsigned char>(text_[at_++]) % 32u); break;
      default: one.set(static_cast<unsigned char>(c));
    }
    return one;
  }

  size_t HexByte(int digits) {
    size_t value = 0;
    for (int i = 0; i < digits; ++i) {
      if (AtEnd() || std::isxdigit(static_cast<unsigned char>(text_[at_])) == 0) return Fail(), 0;
      const char c = text_[at_++];
      value = value * 16 + static_cast<size_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value < 256 ? value : (Fail(), 0);
  }

  Piece Class() {
    Piece piece{.kind = Piece::Kind::kBytes};
    const bool negated = Take("^");
    while (!AtEnd() && !Take("]")) {
      Bytes from = Member();
      if (from.count() == 1 && at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        ++at_;
        const size_t first = First(from), last = First(Member());
        if (first > last || last >= from.size()) return Fail();
        for (size_t c = first; c <= last; ++c) from.set(c);
      }
      piece.bytes |= from;
    }
    if (failed_ || text_[at_ - 1] != ']') return Fail();
    if (negated) piece.bytes.flip();
    return piece;
  }

  Bytes Member() {
    if (Take("[:")) {
      const size_t end = text_.find(":]", at_);
      if (end == std::string_view::npos) return Fail(), Bytes();
      const std::string_view name = text_.substr(at_, end - at_);
      at_ = end + 2;
      if (name == "w") return Words();
      for (const NamedClass& row : kClasses) {
        if (row.name == name) return BytesThat([&](int c) { return c < 128 && row.is(c) != 0; });
      }
      return Fail(), Bytes();
    }
    Bytes one;
    const char c = text_[at_++];
    if (c == '\\') {
      if (AtEnd()) return Fail(), one;
      if (!Take("b")) return EscapedBytes();
      one.set('\b');
    } else {
      one.set(static_cast<unsigned char>(c));
    }
    return one;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool failed_ = false;
};

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
  Simulation(const Automaton& automaton, const std::vector<Bytes>& sets, std::string_view name,
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
  const std::vector<Bytes>& sets_;
  std::string_view name_;
  const std::vector<std::vector<bool>>& ahead_;
  StateSet now_, next_;
  std::vector<int> pending_;
  bool accepts_ = false;
};

}  // namespace

class PatternCompiler {
 public:
  std::optional<NamePattern> Run(const Piece& whole) {
    pattern_.whole_ = Build(whole, /*reversed=*/false);
    return total_ > kMostStates ? std::nullopt : std::optional<NamePattern>(std::move(pattern_));
  }

 private:
  Automaton Build(const Piece& whole, bool reversed) {
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
  int Add(Automaton& automaton, const Piece& piece, int next, bool reversed) {
    if (total_ > kMostStates) return 0;
    switch (piece.kind) {
      case Piece::Kind::kBytes:
        pattern_.sets_.push_back(piece.bytes);
        return AddState(
            automaton,
            {.kind = State::Kind::kByte, .next = next, .index = static_cast<int>(pattern_.sets_.size()) - 1});
      case Piece::Kind::kSequence:
        for (size_t i = piece.parts.size(); i-- > 0;) {
          next = Add(automaton, piece.parts[reversed ? piece.parts.size() - 1 - i : i], next, reversed);
        }
        return next;
      case Piece::Kind::kChoice: {
        int first = Add(automaton, piece.parts[0], next, reversed);
        for (size_t i = 1; i < piece.parts.size(); ++i) {
          const int other = Add(automaton, piece.parts[i], next, reversed);
          first = AddState(automaton, {.kind = State::Kind::kSplit, .next = first, .other = other});
        }
        return first;
      }
      case Piece::Kind::kRepeat: return AddRepeat(automaton, piece, next, reversed);
      case Piece::Kind::kAssert: return AddState(automaton, {.kind = piece.assertion, .next = next});
      case Piece::Kind::kAhead: break;
    }
    Automaton ahead = Build(piece.parts[0], /*reversed=*/true);
    pattern_.ahead_.push_back(std::move(ahead));
    return AddState(automaton,
                    {.kind = piece.assertion, .next = next, .index = static_cast<int>(pattern_.ahead_.size()) - 1});
  }

  int AddRepeat(Automaton& automaton, const Piece& piece, int next, bool reversed) {
    const Piece& part = piece.parts[0];
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
  const std::optional<Piece> whole = Parser(text).Run();
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
