// Regular expressions over names of files, in time proportional to the name, with a stack that does not grow with it.
// std::regex recurses once per character, and may try exponentially many ways: a name of 60,000 bytes ends the program.
//
// The grammar is ECMAScript's but for back-references: . [a-z] \d \w \s \b ^ $ | (...) (?:...) (?=...) (?!...)
// * + ? {m,n}. A name is a sequence of bytes.
#ifndef ONNX_MEM_ANALYZER_GRAPH_NAME_PATTERN_H_
#define ONNX_MEM_ANALYZER_GRAPH_NAME_PATTERN_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace onnx_mem {

class NamePattern {
 public:
  // nullopt for what is no regular expression, and for one that takes more than 20,000 states ("(a{999}){999}").
  static std::optional<NamePattern> Compile(std::string_view text);

  bool FoundIn(std::string_view name) const;  // some part of `name` matches
  bool Matches(std::string_view name) const;  // all of it does

  using Bytes = std::bitset<256>;
  struct State {
    enum class Kind : uint8_t { kSplit, kByte, kBegin, kEnd, kWordEdge, kNoWordEdge, kAhead, kNotAhead, kAccept };
    Kind kind = Kind::kAccept;
    int next = -1, other = -1;  // kSplit: both
    int index = 0;              // kByte: of the set; kAhead, kNotAhead: of the automaton
  };
  struct Automaton {
    std::vector<State> states;
    int start = 0;
  };

 private:
  friend class PatternCompiler;
  using Truths = std::vector<std::vector<bool>>;  // for each looked-ahead pattern: whether it begins at a position

  Truths LookAhead(std::string_view name) const;

  std::vector<Bytes> sets_;
  std::vector<Automaton> ahead_;  // reversed: they run from the end of a name. One may ask those before it
  Automaton whole_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_NAME_PATTERN_H_
