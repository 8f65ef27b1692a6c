// A text that many hold and nobody changes: a copy is a reference. A program of a step names each node in every step
// and buffer that is the node's, and is copied for each optimizer and plan that is tried.
#ifndef ONNX_MEM_ANALYZER_GRAPH_SHARED_TEXT_H_
#define ONNX_MEM_ANALYZER_GRAPH_SHARED_TEXT_H_

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace onnx_mem {

class SharedText {
 public:  // NOLINTBEGIN(google-explicit-constructor)
  SharedText() = default;
  SharedText(std::string text) : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  const std::string& str() const {
    static const std::string& nothing = *new std::string();
    return text_ == nullptr ? nothing : *text_;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }  // NOLINTEND(google-explicit-constructor)

  bool empty() const { return text_ == nullptr; }
  size_t size() const { return str().size(); }
  bool starts_with(std::string_view prefix) const { return std::string_view(str()).starts_with(prefix); }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.text_ == b.text_ || a.str() == b.str(); }
  template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, SharedText>)
  friend bool operator==(const SharedText& a, const Text& b) {
    return std::string_view(a.str()) == std::string_view(b);
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: empty
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_SHARED_TEXT_H_
