#include "analyzer/exported/source_line.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"

namespace onnx_mem {
namespace {

enum class TokenKind : uint8_t { kName, kNumber, kText, kSign };

struct Token {
  TokenKind kind = TokenKind::kSign;
  std::string_view text;
  bool space_before = false;
};
using Tokens = std::vector<Token>;

constexpr auto kSigns = std::to_array<std::string_view>({
    "**=", "//=", ">>=", "<<=", "...", "+=", "-=", "*=", "/=", "%=", "@=", "&=",
    "|=",  "^=",  "==",  "!=",  "<=",  ">=", ":=", "->", "**", "//", ">>", "<<",
});
constexpr auto kKeywords = std::to_array<std::string_view>({
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
});
// Names of modules and of the object itself: no variables that hold a tensor.
constexpr auto kNoVariables = std::to_array<std::string_view>(
    {"self", "torch", "F", "nn", "math", "np", "functional", "Tensor", "torchvision", "cls"});

template <class Range>
bool Contains(const Range& range, std::string_view what) {
  return std::find(range.begin(), range.end(), what) != range.end();
}

bool IsNameStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0; }
bool IsNamePart(char c) { return IsNameStart(c) || absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// End of the string literal that begins at `i`; npos if it does not end on the line.
size_t EndOfText(std::string_view line, size_t i) {
  const char quote = line[i];
  for (size_t end = i + 1; end < line.size(); ++end) {
    if (line[end] == '\\') {
      ++end;
    } else if (line[end] == quote) {
      return end + 1;
    }
  }
  return std::string_view::npos;
}

size_t EndOfSign(std::string_view line, size_t i) {
  for (std::string_view sign : kSigns) {
    if (line.substr(i, sign.size()) == sign) return i + sign.size();
  }
  return i + 1;
}

// nullopt for a line whose strings do not end.
std::optional<Tokens> Tokenize(std::string_view line) {
  Tokens tokens;
  for (size_t i = 0; i < line.size();) {
    const size_t begin = i;
    while (i < line.size() && absl::ascii_isspace(static_cast<unsigned char>(line[i]))) ++i;
    if (i == line.size() || line[i] == '#') break;
    Token token;
    token.space_before = i > begin;
    size_t end = i;
    if (IsNameStart(line[i])) {
      token.kind = TokenKind::kName;
      while (end < line.size() && IsNamePart(line[end])) ++end;
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(line[i]))) {
      token.kind = TokenKind::kNumber;
      while (end < line.size() && (IsNamePart(line[end]) || line[end] == '.')) ++end;
    } else if (line[i] == '"' || line[i] == '\'') {
      token.kind = TokenKind::kText;
      end = EndOfText(line, i);
      if (end == std::string_view::npos) return std::nullopt;
    } else {
      end = EndOfSign(line, i);
    }
    token.text = line.substr(i, end - i);
    tokens.push_back(token);
    i = end;
  }
  return tokens;
}

bool Opens(const Token& token) { return token.text == "(" || token.text == "[" || token.text == "{"; }
bool Closes(const Token& token) { return token.text == ")" || token.text == "]" || token.text == "}"; }

// A comma outside of all brackets.
bool HasCommaOutside(const Tokens& tokens) {
  int depth = 0;
  return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
    depth += Opens(token) ? 1 : Closes(token) ? -1 : 0;
    return depth == 0 && token.text == ",";
  });
}

// Depth of brackets after the last token; -1 if one closes that did not open.
int Depth(const Tokens& tokens) {
  int depth = 0;
  for (const Token& token : tokens) {
    depth += Opens(token) ? 1 : Closes(token) ? -1 : 0;
    if (depth < 0) return -1;
  }
  return depth;
}

bool IsAugmenting(std::string_view sign) {
  return sign.size() >= 2 && sign.back() == '=' && sign != "==" && sign != "!=" && sign != "<=" && sign != ">=" &&
         sign != ":=";
}

// Indices of the assignment signs outside brackets; for `a: type = b` that of the '=' alone.
std::vector<size_t> Assignments(const Tokens& tokens) {
  std::vector<size_t> found;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    depth += Opens(tokens[i]) ? 1 : Closes(tokens[i]) ? -1 : 0;
    if (depth == 0 && tokens[i].kind == TokenKind::kSign && (tokens[i].text == "=" || IsAugmenting(tokens[i].text))) {
      found.push_back(i);
    }
  }
  return found;
}

bool EndsOperand(const Token& token) {
  if (token.kind == TokenKind::kSign) return Closes(token);
  return token.kind != TokenKind::kName || !Contains(kKeywords, token.text);
}

// True for the bracket of `self.layers[i]`, in which a number stands that selects a module.
bool SelectsModule(const Tokens& tokens, size_t bracket) {
  if (tokens[bracket].text != "[" || bracket < 3) return false;
  size_t i = bracket - 1;
  while (i >= 2 && tokens[i].kind == TokenKind::kName && tokens[i - 1].text == ".") i -= 2;
  return i + 1 < bracket && tokens[i].text == "self";
}

// Names that tokens [begin, end) read, and the places where they compute something.
void ReadValue(const Tokens& tokens, size_t begin, size_t end, Statement& statement) {
  constexpr auto kOperators = std::to_array<std::string_view>(
      {"+", "-", "*", "/", "@", "%", "**", "//", "&", "|", "^", "<", ">", "==", "!=", "<=", ">="});
  for (size_t i = begin; i < end; ++i) {
    const Token& token = tokens[i];
    const bool after_operand = i > begin && EndsOperand(tokens[i - 1]);
    if (SelectsModule(tokens, i)) {
      while (i < end && tokens[i].text != "]") ++i;
      continue;
    }
    if (token.kind == TokenKind::kSign) {
      if ((token.text == "(" || token.text == "[" || Contains(kOperators, token.text)) && after_operand)
        ++statement.places;
      continue;
    }
    if (token.kind != TokenKind::kName || Contains(kKeywords, token.text) || Contains(kNoVariables, token.text))
      continue;
    if (i > 0 && tokens[i - 1].text == ".") continue;
    if (i + 1 < tokens.size() &&
        (tokens[i + 1].text == "(" || (tokens[i + 1].text == "=" && !tokens[i + 1].space_before))) {
      continue;
    }
    if (!Contains(statement.reads, token.text)) statement.reads.emplace_back(token.text);
    const bool pops =
        i + 3 < tokens.size() && tokens[i + 1].text == "." && tokens[i + 2].text == "pop" && tokens[i + 3].text == "(";
    if (pops) statement.pops.emplace_back(token.text);
  }
}

// The targets in tokens [begin, end): names, or "" for attributes and elements.
void ReadTargets(const Tokens& tokens, size_t begin, size_t end, std::vector<std::string>& targets) {
  for (size_t i = begin; i < end; ++i) {
    if (tokens[i].text == ":") return;  // a type follows
    if (tokens[i].kind != TokenKind::kName) continue;
    const bool plain = i + 1 == end || (tokens[i + 1].text != "." && tokens[i + 1].text != "[");
    targets.push_back(plain ? std::string(tokens[i].text) : std::string());
    if (plain) continue;
    int depth = 0;
    while (i + 1 < end && (depth > 0 || tokens[i + 1].text != ",")) {
      ++i;
      depth += Opens(tokens[i]) ? 1 : Closes(tokens[i]) ? -1 : 0;
    }
  }
}

// A keyword argument on a line of its own, `mask=mask,`, is no assignment; `x = F.pad(x, [1, 1,` is one.
bool IsArgument(const Tokens& tokens, size_t assignment, int depth) {
  return tokens.back().text == "," && (depth == 0 || !tokens[assignment].space_before);
}

void ReadAssignment(const Tokens& tokens, const std::vector<size_t>& at, int depth, Statement& statement) {
  if (IsArgument(tokens, at[0], depth)) return;
  statement.close_set = !tokens[at[0]].space_before;
  const bool augmented = tokens[at[0]].text != "=";
  if (augmented && at.size() > 1) return;
  statement.kind = augmented ? StatementKind::kAugmented : StatementKind::kAssign;
  if (augmented && tokens[at[0]].text.size() == 2) statement.augmented_op = tokens[at[0]].text[0];
  size_t begin = 0;
  for (size_t end : at) {
    ReadTargets(tokens, begin, end, statement.targets);
    begin = end + 1;
  }
  if (augmented && !statement.targets.empty() && !statement.targets[0].empty()) statement.reads = statement.targets;
  ReadValue(tokens, begin, tokens.size(), statement);
  statement.places += augmented ? 1 : 0;
}

// Statements one after the other on a line tell only which names they may bind.
Statement SeveralStatements(std::string_view text) {
  Statement all;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const Statement one = ParseStatement(text.substr(begin, end - begin));
    all.targets.insert(all.targets.end(), one.targets.begin(), one.targets.end());
    begin = end + 1;
  }
  return all;
}

}  // namespace

Statement ParseStatement(std::string_view text) {
  Statement statement;
  const std::optional<Tokens> read = Tokenize(text);
  if (!read || read->empty()) return statement;
  const Tokens& tokens = *read;
  const int depth = Depth(tokens);
  if (depth < 0) return statement;
  const auto is_sign = [](std::string_view sign) { return [sign](const Token& token) { return token.text == sign; }; };
  if (std::any_of(tokens.begin(), tokens.end(), is_sign(";"))) return SeveralStatements(text);
  statement.whole = depth == 0 && tokens.back().text != "\\" && tokens.back().text != ",";
  const std::string_view first = tokens[0].text;
  if (first == "return") {
    statement.kind = StatementKind::kReturn;
    statement.several = HasCommaOutside(tokens);
    ReadValue(tokens, 1, tokens.size(), statement);
  } else if (tokens[0].kind == TokenKind::kName && Contains(kKeywords, first)) {
    const auto colon = std::find_if(tokens.begin(), tokens.end(), is_sign(":"));
    const bool has_body = depth == 0 && (first == "for" || first == "if" || first == "else") && colon != tokens.end() &&
                          std::next(colon) != tokens.end();
    if (has_body) return ParseStatement(text.substr(static_cast<size_t>(std::next(colon)->text.data() - text.data())));
    ReadValue(tokens, 1, tokens.size(), statement);
  } else if (const std::vector<size_t> at = Assignments(tokens); !at.empty()) {
    ReadAssignment(tokens, at, depth, statement);
  } else if (tokens.size() > 4 && tokens[0].kind == TokenKind::kName && tokens[1].text == "." &&
             tokens[2].text == "append" && tokens[3].text == "(") {
    statement.kind = StatementKind::kAppend;
    statement.targets = {std::string(first)};
    ReadValue(tokens, 4, tokens.size(), statement);
  } else {
    ReadValue(tokens, 0, tokens.size(), statement);
  }
  return statement;
}

}  // namespace onnx_mem
