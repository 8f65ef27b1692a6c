// Stored tensors that are no layer's weight or bias. A file does not say whether they are trained, so this is assumed.
//
//   x = self.patches(x) + self.position      self.position = nn.Parameter(sincos(...), requires_grad=False)
//   d = (z[:, None] - self.prototypes) ** 2
//   v = self.project(self.features(item))    nn.Embedding.from_pretrained(features), which freezes
//   p = self.positions(torch.arange(n))      sines in an nn.Embedding (transformers/models/roformer, marian, pegasus)
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_LOOSE_PARAMETERS_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_LOOSE_PARAMETERS_H_

#include <optional>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Trains none of them: parameters of two dimensions and more of which sums, products and joins alone read, or whose
// rows are picked by their place or read by layers alone, and lists of which single numbers are picked. False if there
// is none.
bool FreezeLooseTables(Lowered& lowered);

// Stored numbers in Constant nodes that an exporter named, read where layers have their weights: an exporter of torch
// stores what is trained as an initializer, a tool may have moved it. Counted as not trained.
//
//   y = MatMul(x, "/m/Constant_output_0")     a matrix of a transform, or a weight
std::optional<Diagnostic> FindConstantWeights(const Lowered& lowered);

// Trains them all. False if there is none.
bool TrainConstantWeights(Lowered& lowered);

// Where the module has parameters that the file has not: trains the stored numbers that stand for no buffer, which the
// exporter may have computed of those. False if there is none.
//
//   y = einsum(x, "softmax")     softmax(self.mixer) of a parameter
bool TrainComputed(Lowered& lowered);

// Takes the weights that the exporter put together for tensors that each run makes beside their parameters. False if
// there is none.
//
//   y = linear(x, "cat_4")     cat of two weights: a training step keeps the result beside them
bool CopyMadeOf(Lowered& lowered);

// Takes what stands for the parameters of weights that the exporter put together (lower/exporters/folded_weight.cc) for
// the least: a number each. False if there is none.
//
//   y = linear(x, "cat_4")     cat of the same rows with other signs: a quarter of its size is trained
bool ShrinkMadeOf(Lowered& lowered);

// Where the module's parameters are all in the file: trains those of the stored numbers that have a parameter's shape,
// which the exporter may have computed of it. False if there is none.
//
//   y = mul(x, "sub")     1 - self.alpha, beside a reader of alpha itself
bool TrainBesideParameters(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_LOOSE_PARAMETERS_H_
