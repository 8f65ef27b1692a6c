#include "analyzer/onnx/read/similar_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;
constexpr int kMostFiles = 10'000;  // a folder of a data set should not slow an error message down

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, error);
  for (int i = 0; !error && it != fs::directory_iterator() && i < kMostFiles; it.increment(error), ++i) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string SimilarFile(const std::string& path) {
  const fs::path requested(path);
  const std::vector<std::string> names = Suggest(requested.filename().string(), NamesIn(requested.parent_path()), 1);
  return names.empty() ? "" : (requested.parent_path() / names[0]).string();
}

std::string ModelInFolder(const std::string& folder) {
  for (const std::string& name : NamesIn(folder)) {
    if (fs::path(name).extension() == ".onnx") return (fs::path(folder) / name).string();
  }
  return "";
}

}  // namespace onnx_mem
