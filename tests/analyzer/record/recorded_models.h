// The records in testdata/records and what the models themselves took.
#ifndef ONNX_MEM_TESTS_ANALYZER_RECORD_RECORDED_MODELS_H_
#define ONNX_MEM_TESTS_ANALYZER_RECORD_RECORDED_MODELS_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace onnx_mem {

inline std::string RecordsPath(const std::string& name) {
  return std::string(ONNX_MEM_SOURCE_DIR "/testdata/records/") + name;
}

inline std::string TextOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// By name.
inline std::vector<std::string> RecordedModels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(RecordsPath(""))) {
    if (entry.path().extension() == ".eager") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_RECORD_RECORDED_MODELS_H_
