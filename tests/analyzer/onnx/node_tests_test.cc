// ONNX's own backend node tests (testdata/node_tests.pb.gz, made by scripts/make_node_tests.py): dtype and shape of
// every tensor output, with the tests' input values known. What is folded must also have the expected contents.
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

std::vector<onnx::ModelProto> ReadTests() {
  std::ifstream file(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/node_tests.pb.gz", std::ios::binary);
  google::protobuf::io::IstreamInputStream raw(&file);
  google::protobuf::io::GzipInputStream unzipped(&raw);
  std::vector<onnx::ModelProto> tests;
  for (bool end = false; !end;) {
    onnx::ModelProto& test = tests.emplace_back();
    if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(&test, &unzipped, &end)) tests.pop_back();
  }
  return tests;
}

enum class Verdict { kExact, kUnknown, kWrong };

// Unknown: nothing that is known contradicts the truth, and something is not known (or only bounded from above).
Verdict Judge(const ValueFact& fact, DType dtype, const Dims& dims) {
  if (fact.dtype != dtype && fact.dtype != DType::kUnknown) return Verdict::kWrong;
  bool unknown = fact.dtype == DType::kUnknown || !fact.shape.has_rank || fact.upper_bound;
  if (!fact.shape.has_rank) return Verdict::kUnknown;
  if (fact.shape.rank() != dims.size()) return Verdict::kWrong;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = fact.shape.dims[i];
    if (dim == kUnknownDim) {
      unknown = true;
    } else if (fact.upper_bound ? dim < dims[i] : dim != dims[i]) {
      return Verdict::kWrong;
    }
  }
  return unknown ? Verdict::kUnknown : Verdict::kExact;
}

const onnx::TensorProto* Expected(const onnx::GraphProto& graph, const std::string& output) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.name() == "expected/" + output) return &tensor;
  }
  return nullptr;
}

// Floats may differ by what two libraries make of exp or sum in another order.
bool Close(double a, double b, DType dtype) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const double tolerance = IsHalf(dtype) ? 2e-2 : 1e-4;
  return std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(b));
}

bool SameContents(const Literal& folded, const Literal& expected) {
  if (folded.data.index() != expected.data.index()) return false;
  if (folded.floats() == nullptr) return folded.data == expected.data;
  if (folded.floats()->size() != expected.floats()->size()) return false;
  for (size_t i = 0; i < folded.floats()->size(); ++i) {
    if (!Close((*folded.floats())[i], (*expected.floats())[i], folded.dtype)) return false;
  }
  return true;
}

struct FoldTally {
  int exact = 0;
  int folded = 0;
  std::vector<std::string> unknown;
  std::vector<std::string> wrong;
};

std::string Text(DType dtype, const Shape& shape) { return std::string(NameOf(dtype)) + " " + ToString(shape); }

void Check(const onnx::ModelProto& model, FoldTally& tally) {
  const onnx::GraphProto& graph = model.graph();
  absl::StatusOr<InferredGraph> inferred = InferShapes(model);
  if (!inferred.ok()) {
    tally.wrong.push_back(graph.name() + ": " + std::string(inferred.status().message()));
    return;
  }
  bool tensors = false;
  Verdict verdict = Verdict::kExact;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!output.type().has_tensor_type()) continue;
    tensors = true;
    const DType dtype = DTypeOf(output.type().tensor_type().elem_type());
    Dims dims;
    for (const auto& dim : output.type().tensor_type().shape().dim()) dims.push_back(dim.dim_value());
    const auto found = inferred->values.find(output.name());
    const ValueFact fact = found != inferred->values.end() ? found->second : ValueFact();
    verdict = std::max(verdict, Judge(fact, dtype, dims));
    if (Judge(fact, dtype, dims) == Verdict::kWrong) {
      tally.wrong.push_back(graph.name() + ": want " + Text(dtype, Shape(dims)) + ", got " +
                            Text(fact.dtype, fact.shape));
    }
    const onnx::TensorProto* tensor = Expected(graph, output.name());
    const LiteralPtr contents = tensor != nullptr ? LiteralOf(*tensor, fold::kMaxElements) : nullptr;
    if (fact.value == nullptr || contents == nullptr) continue;
    ++tally.folded;
    if (!SameContents(*fact.value, *contents)) tally.wrong.push_back(graph.name() + ": contents of " + output.name());
  }
  if (!tensors) return;
  if (verdict == Verdict::kExact) ++tally.exact;
  if (verdict == Verdict::kUnknown) tally.unknown.push_back(graph.name());
}

// Why the shapes of these are not exact although all inputs are known.
const std::map<std::string, std::string>& Reasons() {
  static const auto& reasons = *new std::map<std::string, std::string>({
      {"test_image_decoder", "the size stands in the encoded image"},
      {"test_nonmaxsuppression", "as many boxes as survive; given as an upper bound"},
      {"test_string_split", "as many parts as the strings have"},
      {"test_strnormalizer", "as many strings as are no stop words"},
      {"test_unique_sorted_with", "as many slices along an axis as differ; given as an upper bound"},
  });
  return reasons;
}

TEST(NodeTests, ShapesAreExactOrUnknownForAReason) {
  FoldTally tally;
  const std::vector<onnx::ModelProto> tests = ReadTests();
  EXPECT_EQ(tests.size(), 1884u);
  for (const onnx::ModelProto& model : tests) Check(model, tally);
  for (const std::string& wrong : tally.wrong) ADD_FAILURE() << wrong;
  std::set<std::string> used;
  for (const std::string& unknown : tally.unknown) {
    bool explained = false;
    for (const auto& [prefix, reason] : Reasons()) {
      if (unknown.rfind(prefix, 0) != 0) continue;
      explained = true;
      used.insert(prefix);
    }
    EXPECT_TRUE(explained) << unknown << " is not exact";
  }
  EXPECT_EQ(used.size(), Reasons().size()) << "a reason that no test needs any more";
  EXPECT_EQ(tally.exact, 1825);
  EXPECT_EQ(tally.unknown.size(), 34u);
  EXPECT_EQ(tally.folded, 1016);
}

// The same without the values of the inputs: less is known, and none of it is wrong.
TEST(NodeTests, NothingKnownIsWrongWithoutValues) {
  FoldTally tally;
  for (onnx::ModelProto& model : ReadTests()) {
    std::set<std::string> inputs;
    for (const onnx::ValueInfoProto& input : model.graph().input()) inputs.insert(input.name());
    auto& initializers = *model.mutable_graph()->mutable_initializer();
    for (int i = initializers.size(); i-- > 0;) {
      if (inputs.count(initializers[i].name()) != 0) initializers.DeleteSubrange(i, 1);
    }
    Check(model, tally);
  }
  for (const std::string& wrong : tally.wrong) ADD_FAILURE() << wrong;
  EXPECT_GE(tally.exact, 1536);
}

}  // namespace
}  // namespace onnx_mem
