// com.microsoft: attention and what is fused around it. B batch, S and L sequence lengths of query and key, H hidden
// size, N heads, P positions already in the cache.
#include <algorithm>
#include <array>

#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

constexpr int kFloat = onnx::TensorProto::FLOAT;
constexpr int kInt32 = onnx::TensorProto::INT32;

// Packed projection inside: input [B,S,H], weights [H,3H'], past [2,B,N,P,D] -> [B,S,H'], present [2,B,N,P+S,D].
Results AttentionWith(const FoldCall& call, size_t past_input) {
  const Dims hidden_sizes = IntsOf(call, "qkv_hidden_sizes");
  const int64_t hidden = hidden_sizes.size() == 3 ? hidden_sizes[2] : Over(DimOf(call, 1, -1), 3);
  const int64_t batch = DimOf(call, 0, 0);
  const int64_t length = DimOf(call, 0, 1);
  const int type = call.op() == "QAttention" ? TypeOf(call, 3) : TypeOf(call, 0);
  Results results = {{type, Shape({batch, length, hidden})}};
  if (call.num_outputs() < 2) return results;
  Shape present = ShapeOf(call, past_input);
  const int64_t heads = call.int_attribute("num_heads", 0);
  if (present.rank() != 5) present = Shape({2, batch, heads, 0, Over(hidden, heads)});
  if (call.int_attribute("past_present_share_buffer", 0) == 0) present.dims[3] = Plus(present.dims[3], length);
  results.push_back({type, present});
  return results;
}

Results Attention(const FoldCall& call) { return AttentionWith(call, 4); }
Results QAttention(const FoldCall& call) { return AttentionWith(call, 8); }

// query [B,S,H], key and value [B,L,H'] or [B,N,L,D], or everything packed in query as [B,S,N,3,D].
Results MultiHeadAttentionWith(const FoldCall& call, size_t past_input) {
  const Shape query = ShapeOf(call, 0);
  const Shape key = ShapeOf(call, 1);
  const Shape value = ShapeOf(call, 2);
  const int64_t heads = call.int_attribute("num_heads", 0);
  int64_t hidden = DimOf(call, 0, -1);
  int64_t added = DimOf(call, 0, 1);  // positions that this call adds to the cache
  if (query.rank() == 5) {
    hidden = Times(query.dims[2], query.dims[4]);
  } else if (value.rank() == 3) {
    hidden = value.dims[2];
    added = value.dims[1];
  } else if (value.rank() == 4) {
    hidden = Times(value.dims[1], value.dims[3]);
    added = value.dims[2];
  } else if (key.rank() == 5) {
    added = key.dims[1];
  } else if (!call.has(1) && query.rank() == 3) {
    hidden = Over(hidden, 3);  // key and value stand behind the query on the last axis
  }
  Results results = {{TypeOf(call, 0), Shape({DimOf(call, 0, 0), DimOf(call, 0, 1), hidden})}};
  for (size_t i = 1; i < std::min<size_t>(call.num_outputs(), 3); ++i) {
    Shape present = ShapeOf(call, past_input + i - 1);
    if (present.rank() != 4) {
      const int64_t width = i == 1 ? DimOf(call, 0, -1) : hidden;
      present = Shape({DimOf(call, 0, 0), heads, 0, Over(width, heads)});
    }
    const bool shared = call.int_attribute("past_present_share_buffer", 0) != 0;
    if (!shared) present.dims[2] = Plus(present.dims[2], value.rank() == 4 ? 0 : added);
    if (value.rank() == 4 && !shared) present.dims[2] = added;
    results.push_back({TypeOf(call, 0), present});
  }
  return results;
}

Results MultiHeadAttention(const FoldCall& call) { return MultiHeadAttentionWith(call, 6); }
Results DecoderMaskedMultiHeadAttention(const FoldCall& call) { return MultiHeadAttentionWith(call, 5); }

// query is [B,S,H], or [B,S,(N + 2 * kv_N) * D] with key and value packed into it.
Results GroupQueryAttention(const FoldCall& call) {
  const int64_t heads = call.int_attribute("num_heads", 0);
  const int64_t kv_heads = call.int_attribute("kv_num_heads", 0);
  const int64_t width = DimOf(call, 0, 2);
  const bool packed = !call.has(2);
  const int64_t head_size = Over(width, packed ? heads + 2 * kv_heads : heads);
  const int64_t batch = DimOf(call, 0, 0);
  const int64_t length = DimOf(call, 0, 1);
  Results results = {{TypeOf(call, 0), Shape({batch, length, Times(head_size, heads)})}};
  for (size_t i = 1; i < std::min<size_t>(call.num_outputs(), 3); ++i) {
    const size_t past = 2 + i;
    Shape present = ShapeOf(call, past);
    int64_t total = call.scalar(6).value_or(kUnknownDim);
    if (present.rank() != 4) {
      present = Shape({batch, kv_heads, total >= 0 ? total : length, head_size});
    } else if (total >= 0) {
      present.dims[2] = present.dims[2] < 0 ? kUnknownDim : std::max(present.dims[2], total);
    } else {
      present.dims[2] = Plus(present.dims[2], length);  // without the total length: a cache that grows
    }
    results.push_back({call.has(past) ? TypeOf(call, past) : TypeOf(call, 0), present});
  }
  return results;
}

// Output, mean, inverse standard deviation, and the sum that was normalized.
Results SkipNorm(const FoldCall& call) {
  Shape statistics = ShapeOf(call, 0);
  if (!statistics.dims.empty()) statistics.dims.back() = 1;
  return {{TypeOf(call, 0), ShapeOf(call, 0)},
          {kFloat, statistics},
          {kFloat, statistics},
          {TypeOf(call, 0), ShapeOf(call, 0)}};
}

// input_ids [B,S], word_embedding [vocabulary,H] -> [B,S,H], lengths [B], the sum of embeddings [B,S,H].
Results EmbedLayerNormalization(const FoldCall& call) {
  const Shape out({DimOf(call, 0, 0), DimOf(call, 0, 1), DimOf(call, 2, 1)});
  return {{TypeOf(call, 2), out}, {kInt32, Shape({DimOf(call, 0, 0)})}, {TypeOf(call, 2), out}};
}

// Quantized embeddings: the layer's norm is in floats.
Results QEmbedLayerNormalization(const FoldCall& call) {
  const Shape out({DimOf(call, 0, 0), DimOf(call, 0, 1), DimOf(call, 2, 1)});
  return {{kFloat, out}, {kInt32, Shape({DimOf(call, 0, 0)})}};
}

// [buckets,N] and two scalar lengths -> [1,N,S,L].
Results RelativePositionBias(const FoldCall& call) {
  return {{TypeOf(call, 0),
           Shape({1, DimOf(call, 0, 1), call.scalar(1).value_or(kUnknownDim), call.scalar(2).value_or(kUnknownDim)})}};
}

// [tokens,H], offsets [B,S] -> [B,S,H].
Results RestorePadding(const FoldCall& call) {
  return {{TypeOf(call, 0), Shape({DimOf(call, 1, 0), DimOf(call, 1, 1), DimOf(call, 0, 1)})}};
}

// [B,S,H] -> at most [B*S,H]; offsets [B,S], cumulated lengths [B+1], the longest one.
Results RemovePadding(const FoldCall& call) {
  const int64_t batch = DimOf(call, 0, 0);
  const int64_t length = DimOf(call, 0, 1);
  return {{TypeOf(call, 0), Shape({Times(batch, length), DimOf(call, 0, 2)}), true},
          {kInt32, Shape({batch, length})},
          {kInt32, Shape({Plus(batch, 1)})},
          {kInt32, Shape({1})}};
}

constexpr auto kAttentionRows = std::to_array<TypeRuleRow>({
    {"com.microsoft", "Attention", Attention},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", DecoderMaskedMultiHeadAttention},
    {"com.microsoft", "EmbedLayerNormalization", EmbedLayerNormalization},
    {"com.microsoft", "GroupQueryAttention", GroupQueryAttention},
    {"com.microsoft", "LongformerAttention", SameAsFirst},
    {"com.microsoft", "MultiHeadAttention", MultiHeadAttention},
    {"com.microsoft", "QAttention", QAttention},
    {"com.microsoft", "QEmbedLayerNormalization", QEmbedLayerNormalization},
    {"com.microsoft", "RelativePositionBias", RelativePositionBias},
    {"com.microsoft", "RemovePadding", RemovePadding},
    {"com.microsoft", "RestorePadding", RestorePadding},
    {"com.microsoft", "RotaryEmbedding", SameAsFirst},
    {"com.microsoft", "SkipLayerNormalization", SkipNorm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", SkipNorm},
});

}  // namespace

absl::Span<const TypeRuleRow> AttentionRows() { return kAttentionRows; }

}  // namespace onnx_mem::rules
