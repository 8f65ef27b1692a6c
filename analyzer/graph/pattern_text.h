// The text of a regular expression -> its parts.
#ifndef ONNX_MEM_ANALYZER_GRAPH_PATTERN_TEXT_H_
#define ONNX_MEM_ANALYZER_GRAPH_PATTERN_TEXT_H_

#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/graph/name_pattern.h"

namespace onnx_mem {

inline constexpr int kMostStates = 20'000;  // of a pattern, and the most that a part is repeated
inline constexpr int kUnbounded = -1;

struct PatternPart {
  enum class Kind : uint8_t { kBytes, kSequence, kChoice, kRepeat, kAssert, kAhead };
  Kind kind = Kind::kSequence;  // without parts: the empty one
  NamePattern::Bytes bytes = {};
  std::vector<PatternPart> parts = {};
  int least = 0, most = kUnbounded;                                       // kRepeat
  NamePattern::State::Kind assertion = NamePattern::State::Kind::kBegin;  // kAssert, kAhead
};

inline bool IsWord(int c) { return c < 128 && (std::isalnum(c) != 0 || c == '_'); }

// nullopt for what is no regular expression.
std::optional<PatternPart> ParsePattern(std::string_view text);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_PATTERN_TEXT_H_
