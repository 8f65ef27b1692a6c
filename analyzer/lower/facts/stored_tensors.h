// What the names of stored tensors say: those that an exporter makes up for what it computed, and those that modules
// give to buffers.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_STORED_TENSORS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_STORED_TENSORS_H_

#include <cstdint>
#include <string_view>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// True for folded expressions by the operator that reads them: "onnx::MatMul_243" for op "MatMul".
bool IsFoldedOperand(std::string_view name, std::string_view op);

// The ATen call whose result a dynamo exporter computed and stored under its name: "unsqueeze" for "unsqueeze_14"; ""
// for other names.
std::string_view FoldedCall(std::string_view name);

// "unsqueeze_14" -> "unsqueeze", whatever the name.
std::string_view CallInName(std::string_view name);

// A result of an ATen call that gives all or a part of what it is given; that in another type; what parameters do not
// come from, such as positions.
bool NamesView(std::string_view name);
bool NamesConversion(std::string_view name);
bool NamesTable(std::string_view name);

// A result that shares the memory of what it is given: a view, or a permute, which also turns what was computed of a
// parameter.
bool NamesAlias(std::string_view name);

// A result that may have more elements than all parameters together that it is made of: joined, repeated, picked by an
// index. A sum or a product has as many as the largest.
bool NamesMore(std::string_view name);

// A result that has as many elements as each of the tensors that it is made of, or more: no sum, no part of a tensor.
bool NamesNoLess(std::string_view name);

// The name of a folded result in a dynamo export: "val_34", "unsqueeze_14".
bool IsResultName(std::string_view name);

// A tensor that code reads from no attribute of a module, but from a dict or a closure, or makes there: each place that
// reads it has a name of its own, "cell.lifted_tensor_14", also where several read one tensor.
bool IsLifted(std::string_view name);

// The name that a module has for a buffer, or of a module that has nothing else.
bool HasBufferName(std::string_view name);

// Nothing but sines and cosines is made of the tensor: frequencies, a buffer whatever its name.
bool MakesOnlySines(const Graph& graph, TensorId id, int depth = 0);

// The tensor is only compared, or made one of integers: it gets no gradient, so nothing trains it.
bool IsOnlyCompared(const Graph& graph, TensorId id, int depth = 0);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_STORED_TENSORS_H_
