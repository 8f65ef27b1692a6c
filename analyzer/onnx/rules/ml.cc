// ai.onnx.ml: operators of classical models whose schemas have no shape inference.
#include <algorithm>
#include <array>
#include <numeric>

#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::Call;


// A vector is one sample.
int64_t Samples(const Call& call) { return ShapeOf(call, 0).rank() == 1 ? 1 : DimOf(call, 0, 0); }

Results Regressor(const Call& call, int64_t targets) { return {{kFloat, Shape({Samples(call), targets})}}; }

Results LinearRegressor(const Call& call) { return Regressor(call, call.int_attribute("targets", 1)); }
Results SvmRegressor(const Call& call) { return Regressor(call, 1); }
Results TreeEnsembleRegressor(const Call& call) { return Regressor(call, call.int_attribute("n_targets", 1)); }

Results FloatSameAsFirst(const Call& call) { return {{kFloat, ShapeOf(call, 0)}}; }

Results FeatureVectorizer(const Call& call) {
  const Dims widths = IntsOf(call, "inputdimensions");
  int64_t total = 0;
  for (int64_t width : widths) total = Plus(total, width);
  return {{kFloat, Shape({Samples(call), total})}};
}

constexpr auto kMlRows = std::to_array<Row>({
    {"ai.onnx.ml", "FeatureVectorizer", FeatureVectorizer},
    {"ai.onnx.ml", "Imputer", SameAsFirst},
    {"ai.onnx.ml", "LinearRegressor", LinearRegressor},
    {"ai.onnx.ml", "Normalizer", FloatSameAsFirst},
    {"ai.onnx.ml", "SVMRegressor", SvmRegressor},
    {"ai.onnx.ml", "Scaler", FloatSameAsFirst},
    {"ai.onnx.ml", "TreeEnsembleRegressor", TreeEnsembleRegressor},
});

}  // namespace

absl::Span<const Row> MlRows() { return kMlRows; }

}  // namespace onnx_mem::rules
