#include "analyzer/onnx/sizes/dim_expression.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"

namespace onnx_mem {
namespace {

constexpr int kDeepest = 50;  // parentheses

using Size = std::optional<int64_t>;

Size Add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? Size() : Size(sum);
}
Size Subtract(int64_t a, int64_t b) {
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? Size() : Size(difference);
}
Size Multiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? Size() : Size(product);
}
// Rounded towards minus infinity, as Python's //.
Size Divide(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// sum := product (('+'|'-') product)*; product := factor (('*'|'/'|'//') factor)*;
// factor := number | name | name '(' sum (',' sum)* ')' | '(' sum ')' | '-' factor
class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, int64_t>& values) : text_(text), values_(values) {}

  Size Parse() {
    Size value = Sum(0);
    Skip();
    well_formed_ &= at_ == text_.size();
    return well_formed_ ? value : std::nullopt;
  }
  bool well_formed() const { return well_formed_; }
  std::vector<std::string> names() const { return names_; }

 private:
  void Skip() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  bool Take(std::string_view token) {
    Skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  template <class F>
  Size Combine(const Size& a, const Size& b, F f) {
    return a && b ? f(*a, *b) : std::nullopt;
  }

  Size Sum(int depth) {
    Size value = Product(depth);
    while (well_formed_) {
      if (Take("+")) {
        value = Combine(value, Product(depth), Add);
      } else if (Take("-")) {
        value = Combine(value, Product(depth), Subtract);
      } else {
        break;
      }
    }
    return value;
  }

  Size Product(int depth) {
    Size value = Factor(depth);
    while (well_formed_) {
      if (Take("**") || Take("%")) {
        well_formed_ = false;
      } else if (Take("*")) {
        value = Combine(value, Factor(depth), Multiply);
      } else if (Take("//") || Take("/")) {
        value = Combine(value, Factor(depth), Divide);
      } else {
        break;
      }
    }
    return value;
  }

  Size Factor(int depth) {
    Skip();
    if (depth > kDeepest || at_ >= text_.size()) {
      well_formed_ = false;
      return std::nullopt;
    }
    if (Take("-")) return Combine(Size(0), Factor(depth + 1), Subtract);
    if (Take("(")) return Close(Sum(depth + 1));
    const size_t begin = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) {
      well_formed_ = false;
      return std::nullopt;
    }
    if (std::all_of(word.begin(), word.end(), absl::ascii_isdigit)) return Number(word);
    if (Take("(")) return Call(word, depth);
    if (std::find(names_.begin(), names_.end(), word) == names_.end()) names_.push_back(word);
    const auto it = values_.find(word);
    return it == values_.end() ? Size() : Size(it->second);
  }

  Size Number(const std::string& word) {
    Size value = 0;
    for (char digit : word) value = Combine(Combine(value, Size(10), Multiply), Size(digit - '0'), Add);
    return value;
  }

  Size Call(const std::string& function, int depth) {
    const bool larger = function == "max" || function == "Max";
    const bool smaller = function == "min" || function == "Min";
    well_formed_ &= larger || smaller || function == "floor" || function == "Floor" || function == "int";
    Size value = Sum(depth + 1);
    while (well_formed_ && Take(",")) {
      value = Combine(value, Sum(depth + 1),
                      [&](int64_t a, int64_t b) { return Size(larger ? std::max(a, b) : std::min(a, b)); });
    }
    return Close(value);
  }

  Size Close(Size value) {
    well_formed_ &= Take(")");
    return value;
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& values_;
  size_t at_ = 0;
  bool well_formed_ = true;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> DimNames(std::string_view text) {
  const std::map<std::string, int64_t> none;
  Parser parser(text, none);
  parser.Parse();
  if (parser.well_formed()) return parser.names();
  return {std::string(text)};
}

std::optional<int64_t> EvaluateDim(std::string_view text, const std::map<std::string, int64_t>& values) {
  if (const auto it = values.find(std::string(text)); it != values.end()) return it->second;
  return Parser(text, values).Parse();
}

}  // namespace onnx_mem
