// Every family's operators, as op_table.cc lists them. Each function enacts one framework operator; see op_table.h.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_FAMILIES_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_FAMILIES_H_

#include <span>

#include "analyzer/eager/engine/op_table.h"

namespace onnx_mem::eager {

std::span<const OpRow> ViewOps();
std::span<const OpRow> UnaryOps();
std::span<const OpRow> ScalarOps();
std::span<const OpRow> BinaryOps();
std::span<const OpRow> SelectionOps();
std::span<const OpRow> ExtremumOps();
std::span<const OpRow> WithResultOps();
std::span<const OpRow> MatmulOps();
std::span<const OpRow> EinsumOps();
std::span<const OpRow> ConvolutionOps();
std::span<const OpRow> NormOps();
std::span<const OpRow> NormCompositeOps();
std::span<const OpRow> PoolOps();
std::span<const OpRow> SoftmaxOps();
std::span<const OpRow> ReduceOps();
std::span<const OpRow> CumulativeOps();
std::span<const OpRow> SelectOps();
std::span<const OpRow> ScatterReduceOps();
std::span<const OpRow> ShapeOps();
std::span<const OpRow> ResampleOps();
std::span<const OpRow> CreateOps();
std::span<const OpRow> AttentionOps();
std::span<const OpRow> DropoutOps();
std::span<const OpRow> RecurrentOps();
std::span<const OpRow> QuantizeOps();
std::span<const OpRow> SpectralOps();
std::span<const OpRow> ComplexOps();
std::span<const OpRow> ComplexViewOps();
std::span<const OpRow> LinearAlgebraOps();
std::span<const OpRow> DetectionOps();
std::span<const OpRow> LossOps();  // in engine/loss.cc
std::span<const OpRow> CollectiveOps();
std::span<const OpRow> DefaultOps();

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_FAMILIES_H_
