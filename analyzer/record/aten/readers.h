// What each ATen call gives its node: inputs in the framework's order, attributes by name, at times another operator.
// The argument numbers are those of ATen's schema (native_functions.yaml).
#ifndef ONNX_MEM_ANALYZER_RECORD_ATEN_READERS_H_
#define ONNX_MEM_ANALYZER_RECORD_ATEN_READERS_H_

#include "analyzer/record/aten/call.h"

namespace onnx_mem::record {

// elements.cc: element by element, and reductions.
void Factory(AtenCall& c);
void FactoryLike(AtenCall& c);
void One(AtenCall& c);
void Second(AtenCall& c);
void Two(AtenCall& c);
void Three(AtenCall& c);
void IntoOut(AtenCall& c);
void Four(AtenCall& c);
void Five(AtenCall& c);
void Arithmetic(AtenCall& c);
void DivideByMode(AtenCall& c);
void ReversedSubtract(AtenCall& c);
void PowerByNumber(AtenCall& c);
void PowerOfNumber(AtenCall& c);
void Clamp(AtenCall& c);
void ClampOneSide(AtenCall& c);
void Lerp(AtenCall& c);
void MaskedFill(AtenCall& c);
void AllAxes(AtenCall& c);
void Axes(AtenCall& c);
void AxesBehindNumber(AtenCall& c);
void VectorNorm(AtenCall& c);
void Transform(AtenCall& c);
void TransformOfReal(AtenCall& c);
void Absolute(AtenCall& c);

// places.cc: views, choosing by index, and what gives shapes.
void Transpose(AtenCall& c);
void OntoDiagonal(AtenCall& c);
void Reverse(AtenCall& c);
void Permute(AtenCall& c);
void Bags(AtenCall& c);
void FirstAndThird(AtenCall& c);
void TwoByAxis(AtenCall& c);
void FirstAxis(AtenCall& c);
void LastAxis(AtenCall& c);
void SecondPlaceAxis(AtenCall& c);
void AxisOfWindows(AtenCall& c);
void Select(AtenCall& c);
void Slice(AtenCall& c);
void Alias(AtenCall& c);
void AsStrided(AtenCall& c);
void Clone(AtenCall& c);
void ToCopy(AtenCall& c);
void Index(AtenCall& c);
void IndexPut(AtenCall& c);
void ByAxisAndIndex(AtenCall& c);
void ScatterReduce(AtenCall& c);
void Gather(AtenCall& c);
void All(AtenCall& c);
void Cat(AtenCall& c);
void Stack(AtenCall& c);
void ConstantPad(AtenCall& c);
void Pad(AtenCall& c);
void MirrorPad(AtenCall& c);

// layers.cc: layers.
void Addmm(AtenCall& c);
void Baddbmm(AtenCall& c);
void Convolution(AtenCall& c);
void UpsampleNearest(AtenCall& c);
void UpsampleLinear(AtenCall& c);
void Pool(AtenCall& c);
void LayerNorm(AtenCall& c);
void RmsNorm(AtenCall& c);
void BatchNorm(AtenCall& c);
void BatchNormWithUpdate(AtenCall& c);
void GroupNorm(AtenCall& c);
void Softmax(AtenCall& c);
void Dropout(AtenCall& c);
void EfficientAttention(AtenCall& c);
void FlashAttention(AtenCall& c);
void Recurrent(AtenCall& c);
void CtcLoss(AtenCall& c);
void Solve(AtenCall& c);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_ATEN_READERS_H_
