// ai.onnx.ml: operators of classical models whose schemas have no shape inference.
#include <algorithm>
#include <array>
#include <numeric>

#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

// A vector is one sample.
int64_t Samples(const FoldCall& call) { return ShapeOf(call, 0).rank() == 1 ? 1 : DimOf(call, 0, 0); }

Results Regressor(const FoldCall& call, int64_t targets) { return {{kFloat, Shape({Samples(call), targets})}}; }

Results LinearRegressor(const FoldCall& call) { return Regressor(call, call.int_attribute("targets", 1)); }
Results SvmRegressor(const FoldCall& call) { return Regressor(call, 1); }
Results TreeEnsembleRegressor(const FoldCall& call) { return Regressor(call, call.int_attribute("n_targets", 1)); }

Results FloatSameAsFirst(const FoldCall& call) { return {{kFloat, ShapeOf(call, 0)}}; }

Results FeatureVectorizer(const FoldCall& call) {
  const Dims widths = IntsOf(call, "inputdimensions");
  int64_t total = 0;
  for (int64_t width : widths) total = Plus(total, width);
  return {{kFloat, Shape({Samples(call), total})}};
}

// Columns `y` of each row of `x`; a vector is one row. The schema leaves a vector without a shape.
Results ArrayFeatureExtractor(const FoldCall& call) {
  Dims dims = ShapeOf(call, 0).dims;
  if (!ShapeOf(call, 0).has_rank || dims.empty()) return {};
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  dims.back() = NumElements(ShapeOf(call, 1)).value_or(kUnknownDim);
  return {{TypeOf(call, 0), Shape(std::move(dims))}};
}

// The label of each sample, a text or a number, and a score for each class.
Results Classifier(const FoldCall& call) {
  const onnx::AttributeProto* names = call.attribute("classlabels_strings");
  const int64_t texts = names == nullptr ? 0 : names->strings_size();
  const auto numbers =
      static_cast<int64_t>(IntsOf(call, "classlabels_int64s").size() + IntsOf(call, "classlabels_ints").size());
  const int label = texts > 0 ? onnx::TensorProto::STRING : onnx::TensorProto::INT64;
  return {{label, Shape({Samples(call)})}, {kFloat, Shape({Samples(call), std::max(texts, numbers)})}};
}

constexpr auto kMlRows = std::to_array<TypeRuleRow>({
    {"ai.onnx.ml", "ArrayFeatureExtractor", ArrayFeatureExtractor},
    {"ai.onnx.ml", "FeatureVectorizer", FeatureVectorizer},
    {"ai.onnx.ml", "Imputer", SameAsFirst},
    {"ai.onnx.ml", "LinearRegressor", LinearRegressor},
    {"ai.onnx.ml", "Normalizer", FloatSameAsFirst},
    {"ai.onnx.ml", "SVMClassifier", Classifier},
    {"ai.onnx.ml", "SVMRegressor", SvmRegressor},
    {"ai.onnx.ml", "Scaler", FloatSameAsFirst},
    {"ai.onnx.ml", "TreeEnsembleClassifier", Classifier},
    {"ai.onnx.ml", "TreeEnsembleRegressor", TreeEnsembleRegressor},
});

}  // namespace

absl::Span<const TypeRuleRow> MlRows() { return kMlRows; }

}  // namespace onnx_mem::rules
