// Tables of positions that hold sines and cosines: sin(p * w) and cos(p * w) for each frequency w, in one of the orders
// that models use. Nothing trains such a table, whatever its module calls it: a trained one does not stay on the
// circle.
//
//   [0 0 1 1; 0.84 0.01 0.54 1.00; ...]   halves (Whisper, RoFormer, Marian)
//   [0 1 0 1; 0.84 0.54 0.01 1.00; ...]   in turn (Vaswani et al., 2017)
//   [0 1 0 1; 0 1 0.84 0.54; ...]         halves of halves: two dimensions (masked autoencoders), a zero row ahead
//
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SINUSOID_TABLES_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SINUSOID_TABLES_H_

#include <cstdint>
#include <string>

#include "analyzer/onnx/read/byte_window.h"
#include "analyzer/onnx/read/seen_contents.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// `bytes`: the whole file of `path`, of which `model` was read without its weights. Adds them to `seen`.
void FindSinusoidTables(const onnx::ModelProto& model, ByteWindow& bytes, const std::string& path, SeenContents& seen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SINUSOID_TABLES_H_
