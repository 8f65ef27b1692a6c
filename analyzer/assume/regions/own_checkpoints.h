// The calls of torch.utils.checkpoint in the model's code, as a file of dynamo's shows them.
//
// use_reentrant=True is an autograd.Function: gradients are off when its no_grad() begins, and stay off when that ends,
// as torch.export sees it. So the code behind it is in a graph of its own, too:
//
//   File "<eval_with_key>.72"    what was checkpointed
//   File "<eval_with_key>.73"    the code behind it, as far as the next such block: the numbers count empty graphs
//
// Behind `with torch.no_grad()` the lines are the module's again. Source: torch/utils/checkpoint.py
// (CheckpointFunction), torch/_export/passes/replace_set_grad_with_hop_pass.py.
//
// use_reentrant=False leaves no graph: the trace has the line that called it, x = checkpoint(self.block, x), or
// checkpoint_sequential (sequential_checkpoints.h).
#ifndef ONNX_MEM_ANALYZER_ASSUME_REGIONS_OWN_CHECKPOINTS_H_
#define ONNX_MEM_ANALYZER_ASSUME_REGIONS_OWN_CHECKPOINTS_H_

#include <set>
#include <string>

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Adds them to the model. Gives the graphs (RegionOf) that are theirs, or of code behind them: all ran with gradients.
std::set<std::string, std::less<>> FindOwnCheckpoints(Lowered& lowered);

// Adds checkpoints of each function of the calls of checkpoint_sequential whose number of segments the file does not
// show. False where there are none.
bool CheckpointOpenSequences(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_REGIONS_OWN_CHECKPOINTS_H_
