// Parameters that no operator reads. Exporters drop them (torch/csrc/jit/passes/onnx/eliminate_unused_items.cpp), and a
// file without the module's signature does not list them. For example, the layers of a decoder hold a second attention,
// to an encoder, which is not called where there is no encoder:
//
//   x = self.self_attn(x, mask)
//   if encoder_hidden_states is not None: x = self.encoder_attn(x, encoder_hidden_states)
//
// Sources: transformers/models/bart/modeling_bart.py (BartDecoderLayer), bert/modeling_bert.py (BertLayer), t5.
//
// Or forward runs layers and reads nothing of what they make, which exporters drop too. PyTorch runs them all the same:
//
//   for i in range(3): y = self.branches[i](x); if i < 2: x = x + y      branches.2 is dropped
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_UNREAD_LAYERS_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_UNREAD_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// What such layers take at most: as much as the attentions with a mask that are called "self" of something, which says
// that there may be another one. 0 where another one runs.
int64_t MostBytesOfUnreadLayers(const Lowered& lowered);

// What the layers of `unread` parameters make at most, if they run: each as much as the largest result of a layer whose
// path differs in its numbers alone, else of one of that last name; nothing where none is like it. Training keeps what
// each makes, and one activation behind; an inference the last result, by its name.
int64_t MostBytesOfDeadBranches(const std::vector<std::string>& unread, bool training, const Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_UNREAD_LAYERS_H_
