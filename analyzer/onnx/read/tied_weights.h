// Weights that an exporter stored twice: a language model's head shares its weight with the token embedding, but a file
// may hold the same numbers again, as they are or transposed. Where the contents are there, in the file or beside it,
// they decide: the second copy becomes an Identity or a Transpose of the embedding's, so that it is one parameter.
//
//   table [V,D], onnx::MatMul_7 [D,V] = its transpose   ->   onnx::MatMul_7 = Transpose(table)
//
// Contents are compared at sampled places, a few milliseconds for any size. A weight of the right shape whose contents
// are others is reported for in `seen`, so that nobody takes it for tied by its shape.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_TIED_WEIGHTS_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_TIED_WEIGHTS_H_

#include <cstdint>
#include <string>

#include "analyzer/onnx/read/byte_window.h"
#include "analyzer/onnx/read/seen_contents.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// `bytes`: the whole file of `path`, of which `model` was read without its weights. Returns how many weights were
// joined.
int64_t JoinTiedWeights(onnx::ModelProto& model, ByteWindow& bytes, const std::string& path, SeenContents& seen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_TIED_WEIGHTS_H_
