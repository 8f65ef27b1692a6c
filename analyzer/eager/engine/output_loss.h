// Which loss a training script computes on a model's output, and how large the target is that it loads for it.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_OUTPUT_LOSS_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_OUTPUT_LOSS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/eager/engine/machine.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem::eager {

// Those of `outputs` that a loss is made of: all but what the model cut from its history, from which nothing is learnt
// (a memory that it hands on). All where every one is cut.
TensorIds WithHistory(const FrameworkGraph& graph, const TensorIds& outputs);

// Where kAuto takes cross entropy over the tokens of a language: how many they are. The first of `outputs` is [batch,
// sequence, tokens], made by a linear layer, and the tokens that are fed to the model are looked up in as many rows.
// Hidden states are not: nothing projects them to the vocabulary. 0: it is no such output.
int64_t TokensOfLoss(LossKind requested, const FrameworkGraph& graph, const TensorIds& outputs);

// What kAuto stands for: cross entropy where the first of `outputs` is [rows, classes] or has TokensOfLoss, else the
// mean.
LossKind ResolveLoss(LossKind requested, const FrameworkGraph& graph, const TensorIds& outputs);

// Bytes of the target: class numbers (int64) for cross entropy, a tensor of the output's shape for MSE, else 0.
int64_t TargetBytes(LossKind loss, const FrameworkGraph& graph, TensorId output, bool autocast);

// `value` is the output `id` of the graph; gives the scalar loss. A scalar output is the model's own loss.
TensorRef LossOfOutput(Machine& m, LossKind kind, const Lowered& lowered, TensorId id, const TensorRef& value);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_OUTPUT_LOSS_H_
