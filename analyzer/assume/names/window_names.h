// The names of window attention, as the code of Swin Transformer wrote it and others copy it (timm, transformers):
//
//   x = F.pad(self.norm1(x).view(B, H, W, C), ...)
//   x_windows = window_partition(x, w).view(-1, w * w, C)         two views: a function's, and one of its caller
//   attn_windows = self.attn(x_windows)
//   x = window_reverse(attn_windows.view(-1, w, w, C), ...)       x keeps its name until here
//
// Blocks that view tokens (B, L, C) as an image do all this in their forward, which holds both windows until it
// returns; blocks that work on images do it in a method (timm's Swin), whose names go when it returns. Where the
// attention hands its weights back (kept_results.h), so does the block, and what the shortcut is added to has a name
// too (transformers' Swin and its relatives). Likely, not certain.
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_WINDOW_NAMES_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_WINDOW_NAMES_H_

#include <cstdint>

#include "analyzer/assume/names/calls.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem::names {

// For each tensor the last node during which one of these names holds it; -1 where none does.
IdVector<TensorId, int32_t> HeldAsWindows(const Graph& graph, const Calls& calls);

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_WINDOW_NAMES_H_
