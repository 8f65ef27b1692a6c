// Buffers of a module that no operator of the file reads: the exporter stored the result of computing with them, or the
// code takes slices of them only where its caller gave no positions.
//
//   self.register_buffer("position_ids", torch.arange(512).expand((1, -1)), persistent=False)
//   self.register_buffer("bias", torch.tril(torch.ones(n, n)).view(1, 1, n, n), persistent=False)
//
// Sources: transformers/models/bert/modeling_bert.py (BertEmbeddings), openai/modeling_openai.py (Attention).
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_UNREAD_BUFFERS_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_UNREAD_BUFFERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/graph/lowered.h"
#include "analyzer/graph/program_signature.h"

namespace onnx_mem {

// What the buffers `names` of an exported program take at most: positions as many integers as its largest table of
// positions has rows, masks the square of that, an index that of what the exporter computed with it, or nothing
// where it stored the index in another form, all else a row of what it computed, or as many integers as an index has
// that it computed: an order and its inverse.
int64_t MostBytesOfBuffers(const std::vector<std::string>& names, const ProgramSignature& signature,
                           const Lowered& lowered);

// The same of a file without such names: the positions of each table that is picked from by what the code computes,
// while an integer buffer of as many lies beside it.
int64_t MostBytesOfPositions(const Lowered& lowered);

// Whether `node` picks rows of a stored table by places that the code computes, not by an input of the model.
bool PicksPositions(const Lowered& lowered, const FrameworkNode& node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_UNREAD_BUFFERS_H_
