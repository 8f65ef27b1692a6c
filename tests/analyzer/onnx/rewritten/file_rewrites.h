// Rewrites of a file that change nothing of what runs, as tools make them: names, order of operands, who holds a
// weight, what stands beside the graph.
#ifndef ONNX_MEM_TESTS_ANALYZER_ONNX_REWRITTEN_FILE_REWRITES_H_
#define ONNX_MEM_TESTS_ANALYZER_ONNX_REWRITTEN_FILE_REWRITES_H_

#include <span>
#include <string_view>

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

struct FileRewrite {
  std::string_view name;
  bool is_exact;  // nothing that names or orders tell is lost: the answer is the same to the byte
  void (*apply)(onnx::ModelProto& model);
};

std::span<const FileRewrite> FileRewrites();

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_ONNX_REWRITTEN_FILE_REWRITES_H_
