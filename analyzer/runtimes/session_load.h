// File -> what an onnxruntime session does with its weights while it is made, in order: what the process keeps of that
// is known by a simulation of the C library's heap (analysis/session_resident.h).
//
//   read         each stored weight, from the file into a tensor proto's string     Model::Load (core/graph/model.cc)
//   copy         into a tensor, and the string is freed                                 Graph::Graph
//   (core/graph/graph.cc) transpose    a folded node, a cast too: a copy of its operand, its result, the copy is freed
//   constant_folding.cc reorder      a convolution's weight for blocks of channels: a copy, a vector, a string, the new
//   tensor
//                                                                                   nchwc_transformer.cc
//   drop         weights that nobody reads any more
//   pack         a product's weight for the kernel; the tensor is freed                 PrePack, session_state.cc
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_LOAD_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

struct LoadStep {
  enum class Kind : uint8_t { kTranspose, kReorder, kDrop, kPack };
  Kind kind = Kind::kDrop;
  size_t weight = 0;  // that it makes a new one of, or drops: a stored one, or that of a step, counted behind those
  int64_t bytes = 0;  // of the new one
};

struct SessionLoad {
  struct Stored {
    int64_t bytes = 0;
    bool by_rows = false;  // a table: a run reads some rows of it, and nothing else
  };
  std::vector<Stored> stored;   // in the file's order
  std::vector<LoadStep> steps;  // a step that makes something gives the next number, kDrop too
};

// `file` as imported, `session` what SessionGraph made of it.
SessionLoad LoadOf(const Graph& file, const Graph& session);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_LOAD_H_
