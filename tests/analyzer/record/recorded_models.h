// The records in testdata/records and what the models themselves took.
#ifndef ONNX_MEM_TESTS_ANALYZER_RECORD_RECORDED_MODELS_H_
#define ONNX_MEM_TESTS_ANALYZER_RECORD_RECORDED_MODELS_H_

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

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

inline const nlohmann::json& Truth() {
  static const nlohmann::json& truth = *new nlohmann::json(nlohmann::json::parse(TextOfFile(RecordsPath("truth.json"))));
  return truth;
}

inline std::vector<std::string> RecordedModels() {
  std::vector<std::string> names;
  for (const auto& [name, model] : Truth().at("models").items()) names.push_back(name);
  return names;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_RECORD_RECORDED_MODELS_H_
