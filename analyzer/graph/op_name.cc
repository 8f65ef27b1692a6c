#include "analyzer/graph/op_name.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace onnx_mem {

const OpName::Entry* OpName::Intern(std::string_view text) {
  static std::mutex& mutex = *new std::mutex();
  // Keys are texts of the entries.
  static auto& entries = *new std::unordered_map<std::string_view, std::unique_ptr<const Entry>>();
  const std::lock_guard lock(mutex);
  if (const auto it = entries.find(text); it != entries.end()) return it->second.get();
  auto entry = std::make_unique<const Entry>(Entry{HashOfOpName(text), std::string(text), &FactsOf(text)});
  const Entry* kept = entry.get();
  entries.emplace(kept->text, std::move(entry));
  return kept;
}

}  // namespace onnx_mem
