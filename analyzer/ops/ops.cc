#include "analyzer/ops/ops.h"

#include "analyzer/ops/table.h"

namespace onnx_mem {

const OpFacts& FactsOf(std::string_view name) { return FindOpFacts(name); }

std::span<const OpFacts> AllOpFacts() { return kOpFacts; }

}  // namespace onnx_mem
