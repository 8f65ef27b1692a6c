#include "solver/methods/chain.h"

#include <algorithm>
#include <utility>

namespace onnx_mem {
namespace {

// One block that does what `first` and `second` do one after the other. It saves what both save.
ChainBlock Join(const ChainBlock& first, const ChainBlock& second) {
  const ChainSaving& low = first.savings.front();
  const ChainSaving& high = second.savings.front();
  ChainBlock joined;
  joined.output_bytes = second.output_bytes;
  joined.run_bytes = std::max(first.run_bytes, first.output_bytes + second.run_bytes);
  joined.run_cost = first.run_cost + second.run_cost;
  joined.gap_bytes = second.gap_bytes;
  joined.run = first.run;
  joined.run.insert(joined.run.end(), second.run.begin(), second.run.end());
  ChainSaving saving;
  saving.saved_bytes = low.saved_bytes + high.saved_bytes;
  saving.forward_bytes = std::max(low.forward_bytes, low.saved_bytes + high.forward_bytes);
  saving.backward_bytes = std::max(low.backward_bytes, low.saved_bytes + high.backward_bytes);
  saving.cost = low.cost + high.cost;
  saving.forward = low.forward;
  saving.forward.insert(saving.forward.end(), high.forward.begin(), high.forward.end());
  saving.backward = high.backward;
  saving.backward.insert(saving.backward.end(), low.backward.begin(), low.backward.end());
  joined.savings.push_back(std::move(saving));
  return joined;
}

}  // namespace

Chain ChainOf(const ChainArrays& arrays) {
  Chain chain;
  for (size_t l = 0; l < arrays.a.size(); ++l) {
    const int64_t input_gradient = l == 0 ? 0 : arrays.g[l - 1];
    ChainBlock block;
    block.output_bytes = arrays.a[l];
    block.run_bytes = arrays.a[l] + arrays.of[l];
    block.run_cost = arrays.f[l];
    block.gap_bytes = arrays.base + arrays.g[l];
    ChainSaving saving;
    saving.saved_bytes = arrays.S[l];
    saving.forward_bytes = arrays.S[l] + arrays.oe[l];
    saving.backward_bytes = arrays.base + arrays.g[l] + arrays.S[l] + input_gradient + arrays.ob[l];
    saving.cost = arrays.f[l];
    block.savings.push_back(std::move(saving));
    chain.blocks.push_back(std::move(block));
  }
  return chain;
}

Chain JoinBlocks(const Chain& chain, int most_blocks) {
  if (chain.size() <= most_blocks) return chain;
  Chain joined;
  for (int i = 0; i < chain.size(); ++i) {
    const auto part = [&](int index) { return static_cast<int64_t>(index) * most_blocks / chain.size(); };
    if (i > 0 && part(i) == part(i - 1)) {
      joined.blocks.back() = Join(joined.blocks.back(), chain.blocks[i]);
    } else {
      joined.blocks.push_back(chain.blocks[i]);
    }
  }
  return joined;
}

}  // namespace onnx_mem
