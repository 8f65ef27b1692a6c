// Stored tables that stand in no layer's slot: whether they are trained is in no file.
//
//   x = self.patches(x) + self.position      self.position = nn.Parameter(sincos(...), requires_grad=False)
//   d = (z[:, None] - self.prototypes) ** 2
//   p = self.positions(torch.arange(n))      sines in an nn.Embedding (transformers/models/roformer, marian, pegasus)
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_LOOSE_PARAMETERS_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_LOOSE_PARAMETERS_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Trains none of them: parameters of two dimensions and more of which sums, products and joins alone read, or whose rows
// are picked by their place. False if there is none.
bool FreezeLooseTables(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_LOOSE_PARAMETERS_H_
