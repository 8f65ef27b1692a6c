// The name of an operator, interned: a copy is a pointer, and so is a comparison. A graph of 100,000 nodes asks a few
// hundred times of each of them whether it is a "Conv". What is known of a framework operator comes with its name.
#ifndef ONNX_MEM_ANALYZER_GRAPH_OP_NAME_H_
#define ONNX_MEM_ANALYZER_GRAPH_OP_NAME_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analyzer/ops/ops.h"

namespace onnx_mem {

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
constexpr uint64_t HashOfOpName(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

// A name as it stands in the source. Its hash is taken when that is compiled.
struct OpLiteral {  // NOLINTBEGIN(google-explicit-constructor)
  template <size_t kSize>
  consteval OpLiteral(const char (&literal)[kSize]) : text(literal, kSize - 1), hash(HashOfOpName(text)) {}
  std::string_view text;
  uint64_t hash;
};  // NOLINTEND(google-explicit-constructor)

class OpName {
 public:  // NOLINTBEGIN(google-explicit-constructor)
  OpName() : OpName(std::string_view()) {}
  OpName(std::string_view text) : entry_(Intern(text)) {}
  OpName(const std::string& text) : OpName(std::string_view(text)) {}
  OpName(const char* text) : OpName(std::string_view(text)) {}

  const std::string& str() const { return entry_->text; }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  operator const OpFacts&() const { return *entry_->facts; }  // NOLINTEND(google-explicit-constructor)
  bool empty() const { return str().empty(); }

  template <std::same_as<OpName> Name>
  friend bool operator==(const OpName& a, const Name& b) {
    return a.entry_ == b.entry_;
  }
  // A file may hold a name that was made to have another's hash.
  friend bool operator==(const OpName& a, const OpLiteral& b) {
    return a.entry_->hash == b.hash && a.entry_->text == b.text;
  }
  template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, OpName> &&
             !std::is_array_v<Text>)
  friend bool operator==(const OpName& a, const Text& b) {
    return a.entry_->text == std::string_view(b);
  }

  // By the text, not by where it is held: what is sorted or summed by it is the same in every run.
  template <class H>
  friend H AbslHashValue(H state, const OpName& name) {
    return H::combine(std::move(state), name.entry_->hash);
  }

 private:
  struct Entry {
    uint64_t hash;
    std::string text;
    const OpFacts* facts;
  };
  static const Entry* Intern(std::string_view text);  // lives as long as the process; safe from several threads

  const Entry* entry_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_OP_NAME_H_
