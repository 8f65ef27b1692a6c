// Models for tests, in the text form of the ONNX library's parser (onnx/defs/parser.h).
#ifndef ONNX_MEM_TESTS_ANALYZER_ONNX_MODEL_TEXT_H_
#define ONNX_MEM_TESTS_ANALYZER_ONNX_MODEL_TEXT_H_

#include <string>

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// The model that `text` spells; a failed expectation and an empty model where it does not parse. `text` may leave out
// the heading: then IR 8 and opset 17 are meant.
onnx::ModelProto ModelOfText(const std::string& text);

// The same as the bytes of a file.
std::string BytesOfText(const std::string& text);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_ONNX_MODEL_TEXT_H_
