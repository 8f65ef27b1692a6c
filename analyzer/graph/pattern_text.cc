#include "analyzer/graph/pattern_text.h"

#include <array>
#include <utility>

namespace onnx_mem {
namespace {

using Bytes = NamePattern::Bytes;
using State = NamePattern::State;

constexpr int kDeepestGroup = 200;

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

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  std::optional<PatternPart> Run() {
    PatternPart whole = Choice(0);
    if (at_ < text_.size()) failed_ = true;  // a ")" too many
    return failed_ ? std::nullopt : std::optional<PatternPart>(std::move(whole));
  }

 private:
  bool Take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  PatternPart Fail() {
    failed_ = true;
    at_ = text_.size();
    return {};
  }

  PatternPart Choice(int depth) {
    if (depth > kDeepestGroup) return Fail();
    PatternPart choice{.kind = PatternPart::Kind::kChoice};
    do {
      PatternPart sequence;
      while (!AtEnd() && text_[at_] != '|' && text_[at_] != ')') sequence.parts.push_back(Repeated(depth));
      choice.parts.push_back(std::move(sequence));
    } while (Take("|"));
    return choice;
  }

  PatternPart Repeated(int depth) {
    PatternPart piece = Atom(depth);
    int least = 0, most = kUnbounded;
    while (!failed_ && Quantifier(least, most)) {
      PatternPart repeat{.kind = PatternPart::Kind::kRepeat, .least = least, .most = most};
      if (piece.kind == PatternPart::Kind::kAssert) return Fail();
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

  PatternPart Group(int depth) {
    PatternPart group;
    const bool ahead = Take("?="), not_ahead = !ahead && Take("?!");
    if (ahead || not_ahead) {
      group.kind = PatternPart::Kind::kAhead;
      group.assertion = ahead ? State::Kind::kAhead : State::Kind::kNotAhead;
    } else if (!Take("?:") && !AtEnd() && text_[at_] == '?') {
      return Fail();
    }
    group.parts.push_back(Choice(depth + 1));
    return Take(")") ? group : Fail();
  }

  PatternPart Atom(int depth) {
    const char c = text_[at_++];
    switch (c) {
      case '(': return Group(depth);
      case '^': return {.kind = PatternPart::Kind::kAssert, .assertion = State::Kind::kBegin};
      case '$': return {.kind = PatternPart::Kind::kAssert, .assertion = State::Kind::kEnd};
      case '.':
        return {.kind = PatternPart::Kind::kBytes, .bytes = BytesThat([](int b) { return b != '\n' && b != '\r'; })};
      case '[': return Class();
      case '\\': return Escape();
      case '*':
      case '+':
      case '?':
      case '{': return Fail();
      default: return One(c);
    }
  }

  static PatternPart One(char c) {
    PatternPart piece{.kind = PatternPart::Kind::kBytes};
    piece.bytes.set(static_cast<unsigned char>(c));
    return piece;
  }

  PatternPart Escape() {
    if (AtEnd()) return Fail();
    if (Take("b")) return {.kind = PatternPart::Kind::kAssert, .assertion = State::Kind::kWordEdge};
    if (Take("B")) return {.kind = PatternPart::Kind::kAssert, .assertion = State::Kind::kNoWordEdge};
    if (text_[at_] >= '1' && text_[at_] <= '9') return Fail();  // what a group matched before
    return {.kind = PatternPart::Kind::kBytes, .bytes = EscapedBytes()};
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

  PatternPart Class() {
    PatternPart piece{.kind = PatternPart::Kind::kBytes};
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

}  // namespace

std::optional<PatternPart> ParsePattern(std::string_view text) { return PatternParser(text).Run(); }

}  // namespace onnx_mem
