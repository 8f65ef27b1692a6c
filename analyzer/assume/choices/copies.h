// What code may leave out; a view continues in its place. Copies into the order of memory:
//
//   x.reshape(B, H, W, -1).permute(0, 3, 1, 2)           the next stage's image, with .contiguous() or without
//   if self.training: x = x.contiguous()                 of a training export, in an inference
//
// Sources: transformers/models/pvt_v2/modeling_pvt_v2.py, diffusers/models/resnet.py (ResnetBlock2D.forward).
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_COPIES_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_COPIES_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Makes views of the copies that are no certain part of the code (lower/draft/match.h, kMaybeCopied). False if there is
// none.
bool LeaveOutCopies(Lowered& lowered);

// Values that are written into a stored buffer of the module change it where it lies: dynamo's exporter and the tracer
// write a new tensor. False if there are none.
//
//   self.cached[:n] = table     slice_scatter(b_cached, table), or ScatterND
bool WriteIntoBuffers(Lowered& lowered);

// About the bytes that a run needs beyond what is counted if each reader of a copy that changes nothing, F.pad by 0,
// has one of its own: exporters make equal calls one (torch/csrc/jit/passes/common_subexpression_elimination.cpp). A
// loop calls it in every round, with paddings that it worked out:
//
//   for k in levels: pools.append(F.max_pool2d(F.pad(x, padding_for(k)), k))
int64_t BytesOfMergedCopies(const Lowered& lowered);

// Casts that no code may have written. TorchScript's exporter gives each operand the type of the result, by a cast of
// its own right before the operator (torch/csrc/jit/passes/onnx/scalar_type_analysis.cpp, ImplicitCastForONNX). The
// framework's kernels promote what they read as they read it, and autograd saves the operand as it is:
//
//   x * (x > 0)             saves a byte for each element, and makes no tensor in between
//   x * (x > 0).float()     saves four, in the same file
//
// True if the model has any: its operators then read what such casts are given.
bool PromoteAsRead(Lowered& lowered);

// Noise that a layer adds to its weight in training alone: the sum of a parameter and what is computed of stored
// tensors alone, in its shape, is that parameter in evaluation. False if there is none.
//
//   weight = self.mu + self.sigma * self.eps_p.ger(self.eps_q)
bool LeaveOutNoise(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_COPIES_H_
