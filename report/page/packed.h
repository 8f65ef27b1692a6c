// Numbers and texts of a page's data, packed as web/data.mjs unpacks them.
#ifndef ONNX_MEM_REPORT_PAGE_PACKED_H_
#define ONNX_MEM_REPORT_PAGE_PACKED_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "report/page/page.h"
#include "report/parts/json_writer.h"

namespace onnx_mem {

// A column of numbers.
class PackedColumn {
 public:
  void Add(int64_t number) {
    uint64_t folded = (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
    while (folded >= 0x80) {
      bytes_ += static_cast<char>(folded | 0x80);
      folded >>= 7;
    }
    bytes_ += static_cast<char>(folded);
  }
  std::string Text() const { return absl::Base64Escape(bytes_); }

 private:
  std::string bytes_;
};

// Strings by their place in a sorted list, which is known once all are collected.
class StringList {
 public:
  void Collect(std::string_view text) { places_.try_emplace(std::string(text), 0); }
  void Number() {
    int64_t next = 0;
    for (auto& [text, place] : places_) place = next++;
  }
  int64_t PlaceOf(std::string_view text) const { return places_.find(text)->second; }

  void Write(JsonWriter& json) const {
    json.BeginArray(JsonWriter::Layout::kOneLine);
    std::string last;
    for (const auto& [text, place] : places_) {
      const std::string clean = CleanText(text);
      size_t shared = 0;  // ASCII alone, so that characters and bytes are the same
      while (shared < std::min(last.size(), clean.size()) && last[shared] == clean[shared] &&
             static_cast<unsigned char>(clean[shared]) < 0x80) {
        ++shared;
      }
      json.Int(static_cast<int64_t>(shared)).String(std::string_view(clean).substr(shared));
      last = clean;
    }
    json.EndArray();
  }

 private:
  std::map<std::string, int64_t, std::less<>> places_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PAGE_PACKED_H_
