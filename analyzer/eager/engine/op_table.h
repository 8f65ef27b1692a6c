// The framework operators that a lowered graph may contain, and how they are enacted. analyzer/lower writes nodes with
// these names; one row in engine/op_table.cc and one function in eager/operators or views/<family>.cc enact each.
//
// Conventions of lowered nodes (the contract between lower and eager):
// * Node.op is the framework operator's name below; shapes and dtypes of outputs stand in the graph's tensors.
// * inputs are device tensors only. Shapes, axes, scalars and whatever else the framework passes as Python numbers are
//   attributes. An omitted optional input is an invalid id. A weight is an ordinary input (a parameter tensor).
// * attribute "inplace" = 1 on an operator that may write into its first input means that it does.
// * attribute "requires_grad_none" = 1: the result is detached (a mask, an index, a comparison).
//
//   recorded     (what only a record of the running model has) unsafe_view as_strided {strides} leaf (x, which requires
//                a gradient from here on) copy (x, y: over all of x, which may be a view) overwrite (x: by numbers)
//                var_mean mse_loss recurrent_layers {kind, states, biases, layers, p, bidirectional, batch_first}; of
//                factories {strides, like_input}
//   views        reshape (target = output shape; a view where strides allow, else a copy: aten::reshape) - view of the
//                same element count; permute {perm}; expand; slice {axes, starts, ends, steps} (non-negative, clamped;
//                of_everything: 1 if it is one even so);
//                select {axis, index}; split {axis, sizes}; unbind {axis}; squeeze {axes}; unsqueeze {axes};
//                contiguous; identity (the very same tensor); detach; view_dtype (the same bytes); diagonal; unfold
//                {axis}; diagonal_like views -> "as_strided_view"
//   unary        relu sigmoid tanh gelu {approximate} silu hardswish hardsigmoid mish softplus relu6 clamp {two_sided}
//                elu selu celu leaky_relu {alpha} erf exp log sqrt rsqrt reciprocal abs neg sign floor ceil round sin
//                cos tan asin acos atan sinh cosh asinh acosh atanh pow_scalar {exponent} add_scalar sub_scalar
//                rsub_scalar mul_scalar div_scalar rdiv_scalar rpow_scalar remainder_scalar fmod_scalar (a factor or
//                divisor is wrapped: 8 B saved) cast (to output dtype) logical_not isnan isinf isfinite softsign
//                digamma i0 lgamma logsigmoid logit nan_to_num hardshrink softshrink threshold exp2 expm1 log1p log2
//                log10 trunc frac glu {axis}
//   binary       add sub mul div pow maximum minimum fmod remainder floor_divide atan2 compare (bool result) logical
//                bitwise where (cond, a, b; a or b may be invalid = scalar) masked_fill (x, mask) prelu (x, slope) lerp
//                (a, b, w?) clamp_by (x, bound) clamp_between (x, low?, high?)
//                logaddexp xlogy fmax copysign (x, sign?) hypot ldexp
//                addcmul addcdiv (self, tensor1, tensor2)
//   matmul       linear (x, weight, bias?) {transposed: 1 if the file's weight is [in, out] and the parameter
//                [out, in]} addmm (a, b, bias?) {trans_a, trans_b} (Gemm whose weight is no plain linear)
//                matmul (N-D, broadcasting) bmm baddbmm (self, a, b) {alpha, beta} einsum {equation path?}
//   convolution  conv (x, weight, bias?) {stride, pad, dilation, group} conv_transpose
//   norm         batch_norm (x, weight, bias, running_mean, running_var) {training} layer_norm (x, weight?, bias?)
//                {axis} group_norm {groups} instance_norm (x, weight?, bias?) rms_norm (x, weight?) {axis}
//                local_response_norm {size, beta} lp_normalize {axis, p} weight_norm (v, g) pairwise_distance distances
//                euclidean_distances (rows, rows) own_distances (rows)
//   pool         max_pool {kernel, stride, return_indices} avg_pool adaptive_avg_pool adaptive_max_pool lp_pool
//                max_unpool
//   softmax      softmax log_softmax {axis, half_to_float: 1 if the call names float32 as dtype}
//   reduce       {axes} or {axis}; none: all. sum mean amax amin prod norm {p} logsumexp argmax argmin cumsum cumprod
//                logcumsumexp cumulative_extremum
//                max_dim (values+indices) std var all any
//   loss         nll_loss (log-probabilities, target) ctc_loss (log-probabilities, targets) {zero_infinity}
//                (x, target): huber_loss mse_loss smooth_l1_loss soft_margin_loss binary_cross_entropy (.., weight?)
//                binary_cross_entropy_with_logits (.., weight?, pos_weight?)
//   select       embedding (weight, indices) embedding_bag {mode} index_select (x, indices) {axis} gather (x, index)
//                {axis} index (x, i...)
//                scatter scatter_add (x, index, source?) scatter_reduce
//                {reduction} index_add index_copy (x, index, source) bucketize index_put (x, values?, i...)
//                {accumulate} topk sort nonzero copy_into (x, y: written into x in place) unique one_hot triu tril
//                without_gradient (new tensors of the sizes that the call says)
//   shape        block_diag (matrices...) cat {axis} stack {axis} pad {pads, mode} upsample {mode} pixel_shuffle
//                pixel_unshuffle roll repeat {repeats} flip rot90 channel_shuffle diag_embed {rows, columns}
//                diagonal_copy trace im2col col2im unfold_backward {axis} grid_sample affine_grid
//   create       arange full empty zeros_like random (uniform/normal/bernoulli; new, no gradient)
//   attention    sdpa (q, k, v, mask?) {kernel: math|flash|efficient, causal, scale, dropout, gqa_groups}
//   dropout      dropout {p} feature_dropout {p}
//   recurrent    lstm gru rnn (x, weights..., h0?, c0?) {hidden, bidirectional, batch_first, weights: how many of the
//                inputs are weights: w_ih, w_hh, biases, each by direction or in one piece}; one layer
//                lstm_cell gru_cell (x, h, c?, w_ih, w_hh, b_ih, b_hh)
//                fused_lstm_cell fused_gru_cell (of a record: input gates, state gates, state, b_ih?, b_hh?)
//   quantize     quantize dequantize fake_quantize packed_linear (x, codes, bias?) {features, depth, packed_scales: how
//                many scales are packed themselves} int8_linear (x, codes, bias?) {features, depth}
//   spectral     (complex tensors are real ones with a last dimension of 2) fft_r2c fft_c2c fft_c2r stft (signal,
//                window?)
//                {frame, hop} to_complex complex_abs complex_mul
//   complex      (of a record: complex dtypes) complex_to_complex {axes} real_to_complex {axes, half} complex_to_real
//                {axes} complex polar abs_of_complex; views: conj view_as_real view_as_complex
//   matrices     cholesky det logdet inverse solve (a, b) {left} solve_triangular (a, b)
//                grouped_mm (a, b, ends of groups?)
//   detection    roi_align (features, boxes) roi_pool deform_conv (x, weight, offset, bias?, mask?)
//   collective   (tensor parallelism) all_reduce_gradient all_reduce all_gather {axis, reduces} reduce_scatter {axis}
//                split_embedding (rows of the table, indices) {rows}
//   default      opaque {workspace_bytes} (a loop or branch run as one step)
//                custom_function {saves: inputs|nothing, workspace_bytes} (an autograd.Function of the model's code)
//                "assumed": new outputs, saves its inputs, one gradient per input; label `assumed`
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_OP_TABLE_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_OP_TABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/eager/engine/call_shape.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::eager {

// One operator call of the lowered graph. `inputs` are the argument references that the framework's frame holds.
struct Call {
  const FrameworkGraph& graph;
  const FrameworkNode& node;
  std::vector<TensorRef> inputs;

  const TensorRef& input(size_t i) const {
    static const TensorRef kNone;
    return i < inputs.size() ? inputs[i] : kNone;
  }
  // In the place of an omitted output the first one that is there: values and their indices have one shape.
  const Tensor& output(size_t i = 0) const {
    for (size_t at = node.outputs[i].valid() ? i : 0; at < node.outputs.size(); ++at) {
      if (node.outputs[at].valid()) return graph.tensors[node.outputs[at]];
    }
    static const Tensor kNone;
    return kNone;
  }
  const Dims& output_dims(size_t i = 0) const { return output(i).shape.dims; }
  bool inplace() const { return IntAttribute(node, "inplace", 0) != 0; }
};
using Outputs = std::vector<TensorRef>;  // one per node output, set by the operator; null where it makes none
using EnactFn = void (*)(Machine& m, const Call& call, Outputs& out);

struct OpRow {
  std::string_view name;
  EnactFn enact;
  int8_t inputs = 1;  // how many leading inputs must be there
  int8_t rank = 0;    // least rank of input 0
  // Whether the function can take a call that has those, where it asks for more: ranks, axes, sizes that are not 0.
  bool (*fits)(const CallShape& call) = nullptr;
};

// Whether `row` can take the call. What no file of an exporter has, but a malformed one may, becomes "assumed".
bool Fits(const OpRow& row, const CallShape& call);

// The row of framework operator `name`; null if there is none.
const OpRow* FindOp(const OpName& name);

std::vector<const OpRow*> AllOps();

// OK iff every node's operator has a row and its call fits it. Error: Unimplemented, or InvalidArgument naming the
// node.
absl::Status CheckOperators(const FrameworkGraph& graph);

// What a call reads and writes beside the tensors that it makes, for the roofline: its inputs, and the outputs that it
// wrote over one of them, as nothing was allocated for those.
int64_t MovedBytes(const Call& call, const Outputs& outputs);

// The same of a call that a second run stopped in: outputs are saved after the kernel has run, and the last one of them
// stops the run before it is handed on.
int64_t MovedBytesUntilStop(const Call& call, const Recorder& recorder);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_OP_TABLE_H_
