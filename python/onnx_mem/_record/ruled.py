"""ATen operators that the program has a rule for. Made by scripts/make_python_rules.py from its tables."""

RULED = frozenset("""
_adaptive_avg_pool2d _adaptive_avg_pool3d _batch_norm_with_update _cdist_forward _conj _ctc_loss.Tensor
_efficientzerotensor _embedding_bag _embedding_bag_forward_only _euclidean_dist _fft_c2c _fft_c2r _fft_r2c
_fused_rms_norm _grouped_mm _is_all_true _is_any_true _linalg_det _linalg_slogdet _linalg_solve_ex _log_softmax
_pdist_forward _prelu_kernel _reshape_alias _safe_softmax _scaled_dot_product_efficient_attention
_scaled_dot_product_flash_attention _softmax _thnn_fused_gru_cell _thnn_fused_lstm_cell _to_copy _unsafe_index.Tensor
_unsafe_index_put _unsafe_view _upsample_bicubic2d_aa _upsample_bicubic2d_aa.vec _upsample_bilinear2d_aa
_upsample_bilinear2d_aa.vec _upsample_nearest_exact1d _upsample_nearest_exact1d.vec _upsample_nearest_exact2d
_upsample_nearest_exact2d.vec _upsample_nearest_exact3d _upsample_nearest_exact3d.vec _weight_norm_interface abs acos
acosh adaptive_max_pool2d adaptive_max_pool3d add.Scalar add.Tensor addcdiv addcmul addmm affine_grid_generator alias
all all.dim all.dims amax amin any any.dim any.dims arange arange.start arange.start_step argmax argmin as_strided
asin asinh atan atan2 atanh avg_pool2d avg_pool3d baddbmm bernoulli bernoulli.Tensor bernoulli.float bernoulli.p
binary_cross_entropy binary_cross_entropy_with_logits bincount bitwise_and.Scalar bitwise_and.Tensor bitwise_not
bitwise_or.Scalar bitwise_or.Tensor bitwise_xor.Scalar bitwise_xor.Tensor block_diag bmm bucketize.Tensor cat cauchy
ceil celu channel_shuffle clamp clamp.Tensor clamp_max clamp_max.Tensor clamp_min clamp_min.Tensor clone col2im
complex constant_pad_nd convolution copy copysign.Scalar copysign.Tensor cos cosh cudnn_batch_norm cummax cummin
cumprod cumsum deg2rad detach diag_embed diagonal diagonal_copy digamma div.Scalar div.Scalar_mode div.Tensor
div.Tensor_mode dot elu embedding empty.memory_format empty_like empty_strided eq.Scalar eq.Tensor erf erfc erfinv exp
exp2 expand expm1 exponential eye eye.m fill.Scalar fill.Tensor flip floor floor_divide fmax fmin fmod.Scalar
fmod.Tensor frac full full_like gather ge.Scalar ge.Tensor gelu geometric glu grid_sampler_2d grid_sampler_3d gru
gru.input gt.Scalar gt.Tensor hann_window hardshrink hardsigmoid hardswish hardtanh heaviside histc huber_loss hypot
i0 im2col index.Tensor index_add index_copy index_fill.int_Scalar index_put index_select isfinite isinf isnan kthvalue
ldexp.Tensor le.Scalar le.Tensor leaky_relu lerp.Scalar lerp.Tensor lgamma lift_fresh linalg_cholesky_ex linalg_inv_ex
linalg_solve_triangular linalg_vector_norm linspace log log10 log1p log2 log_normal log_sigmoid_forward logaddexp
logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logspace logsumexp lstm lstm.input
lt.Scalar lt.Tensor masked_fill.Scalar masked_fill.Tensor masked_scatter masked_select matmul max max.dim
max_pool2d_with_indices max_pool3d_with_indices max_unpool2d maximum mean mean.dim median median.dim min min.dim
minimum miopen_batch_norm mish mm mode mse_loss mul.Scalar mul.Tensor multinomial mv nan_to_num nanmedian
nanmedian.dim native_batch_norm native_dropout native_group_norm native_layer_norm ne.Scalar ne.Tensor neg new_empty
new_empty_strided new_full new_ones new_zeros nextafter nll_loss2d_forward nll_loss_forward nonzero norm.ScalarOpt_dim
normal normal.Tensor_float normal.float_float numpy_T ones ones_like pad permute pixel_shuffle pixel_unshuffle poisson
polar polygamma pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor pow_.Scalar pow_.Tensor prod prod.dim_int rad2deg rand
rand_like randint randint.low randint_like randn randn_like random random.from random.to randperm reciprocal
reflection_pad1d reflection_pad2d reflection_pad3d relu remainder.Scalar remainder.Tensor repeat
repeat_interleave.Tensor replication_pad1d replication_pad2d replication_pad3d rnn_relu rnn_relu.input rnn_tanh
rnn_tanh.input roll rot90 round round.decimals rsqrt rsub.Scalar rsub.Tensor scalar_tensor scatter.src scatter.value
scatter_add scatter_reduce.two searchsorted.Tensor select.int select_scatter selu sigmoid sign silu sin sinh
slice.Tensor slice_scatter smooth_l1_loss soft_margin_loss softplus softshrink sort sort.stable split.Tensor
split_with_sizes sqrt squeeze squeeze.dim squeeze.dims stack std.correction std_mean.correction sub.Scalar sub.Tensor
sum sum.dim_IntList t take tan tanh threshold topk trace transpose.int tril tril_indices triu triu_indices trunc
unbind.int unfold unfold_backward uniform unsqueeze upsample_bicubic2d upsample_bicubic2d.vec upsample_bilinear2d
upsample_bilinear2d.vec upsample_linear1d upsample_linear1d.vec upsample_nearest1d upsample_nearest1d.vec
upsample_nearest2d upsample_nearest2d.vec upsample_nearest3d upsample_nearest3d.vec upsample_trilinear3d
upsample_trilinear3d.vec var.correction var_mean.correction vdot view view.dtype view_as_complex view_as_real
where.self xlogy.Tensor zero zeros zeros_like
""".split())

RULED_OF_COMPLEX = frozenset("""
_conj _efficientzerotensor _embedding_bag _embedding_bag_forward_only _fft_c2c _fft_c2r _fft_r2c _reshape_alias
_unsafe_index.Tensor _unsafe_index_put _unsafe_view _upsample_bicubic2d_aa _upsample_bicubic2d_aa.vec
_upsample_bilinear2d_aa _upsample_bilinear2d_aa.vec _upsample_nearest_exact1d _upsample_nearest_exact1d.vec
_upsample_nearest_exact2d _upsample_nearest_exact2d.vec _upsample_nearest_exact3d _upsample_nearest_exact3d.vec
affine_grid_generator alias arange arange.start arange.start_step as_strided bernoulli.Tensor bernoulli.float
bernoulli.p bincount block_diag bucketize.Tensor cat cauchy channel_shuffle clone col2im complex constant_pad_nd copy
detach diag_embed diagonal diagonal_copy embedding empty.memory_format empty_like empty_strided eq.Scalar eq.Tensor
expand exponential eye eye.m fill.Scalar fill.Tensor flip full full_like gather ge.Scalar ge.Tensor geometric
grid_sampler_2d grid_sampler_3d gt.Scalar gt.Tensor hann_window heaviside histc im2col index.Tensor index_add
index_copy index_fill.int_Scalar index_put index_select le.Scalar le.Tensor lift_fresh linspace log_normal logspace
lt.Scalar lt.Tensor masked_scatter masked_select multinomial ne.Scalar ne.Tensor new_empty new_empty_strided new_full
new_ones new_zeros nextafter nonzero normal normal.float_float numpy_T ones ones_like pad permute pixel_shuffle
pixel_unshuffle polar rand rand_like randint randint.low randint_like randn randn_like random random.from random.to
randperm reflection_pad1d reflection_pad2d reflection_pad3d repeat repeat_interleave.Tensor replication_pad1d
replication_pad2d replication_pad3d roll rot90 scalar_tensor scatter.src scatter.value scatter_add scatter_reduce.two
searchsorted.Tensor select.int select_scatter slice.Tensor slice_scatter sort sort.stable split.Tensor
split_with_sizes squeeze squeeze.dim squeeze.dims stack t take topk trace transpose.int tril tril_indices triu
triu_indices unbind.int unfold unfold_backward uniform unsqueeze upsample_bicubic2d upsample_bicubic2d.vec
upsample_bilinear2d upsample_bilinear2d.vec upsample_linear1d upsample_linear1d.vec upsample_nearest1d
upsample_nearest1d.vec upsample_nearest2d upsample_nearest2d.vec upsample_nearest3d upsample_nearest3d.vec
upsample_trilinear3d upsample_trilinear3d.vec view view.dtype view_as_complex view_as_real zero zeros zeros_like
""".split())
