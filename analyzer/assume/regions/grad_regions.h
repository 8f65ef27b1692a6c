// What ran under torch.no_grad() in a file of dynamo's.
//
// torch.export makes a graph of its own of each `with torch.no_grad()` and of each `with torch.autocast()`, and runs it
// when it decomposes the program: its operators' source lines are that graph's, not the module's:
//
//   File "<eval_with_key>.97", line 6, in forward
//     matmul = torch.ops.aten.matmul.default(permute, relu);  permute = None
//
// Source: torch/_export/passes/replace_set_grad_with_hop_pass.py and replace_autocast_with_hop_pass.py;
// torch/fx/graph_module.py names the code of such graphs. Which of the two it was the file does not say, but:
//
//   * no_grad would leave untrained what made values of which nothing outside reads any (a rotary embedding of q):
//     autocast;
//   * nor of the queries and keys of one attention: autocast;
//   * a line that names another operator than the cast that ran there was cast by autocast;
//   * layers that run nowhere else, on values that are trained: autocast, likely; else no_grad, likely.
#ifndef ONNX_MEM_ANALYZER_ASSUME_REGIONS_GRAD_REGIONS_H_
#define ONNX_MEM_ANALYZER_ASSUME_REGIONS_GRAD_REGIONS_H_

#include <string_view>

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// "97" of `File "<eval_with_key>.97", line 6, in forward`; "" for the lines of modules.
std::string_view RegionOf(const FrameworkNode& node);

// Finds the model's own checkpoints (own_checkpoints.h), and takes the gradients from the operators that ran without.
void SettleGradRegions(Lowered& lowered);

// Those that are only likely to have run without gradients get them, and the other way round; whether there are any.
bool TurnGradRegions(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_REGIONS_GRAD_REGIONS_H_
