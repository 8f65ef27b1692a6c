// Records in the metadata of a file: used where they belong to the graph, reported where they do not.
#include "analyzer/onnx/build/recorded.h"

#include <string>
#include <vector>

#include "analyzer/onnx/build/import.h"
#include "analyzer/onnx/read/sha256.h"
#include "analyzer/record/lower/lower_record.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

constexpr char kRecord[] =
    "eager 1\ntorch 2.15.0\nprogram eval\n%0 input x f32[B,4]\n%1 f32[B,4] = relu %0\nreturn %1\ntree 1\n";

void AddValue(const std::string& name, const std::vector<std::string>& dims, onnx::ValueInfoProto& value) {
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("batch");
  for (const std::string& dim : dims) type->mutable_shape()->add_dim()->set_dim_param(dim);
  type->mutable_shape()->add_dim()->set_dim_value(4);
}

// y = Relu(x), with a record and the hash that fits it; `dims`: sizes of x and y between the batch and a 4.
onnx::ModelProto ModelWith(const std::string& record, const std::vector<std::string>& dims = {}) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  AddValue("x", dims, *graph.add_input());
  AddValue("y", dims, *graph.add_output());
  auto& node = *graph.add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  const auto set = [&](const std::string& key, const std::string& value) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  };
  set("onnx_mem.version", "1");
  set("onnx_mem.graph_hash", GraphHash(graph));
  set("onnx_mem.program", record);
  return model;
}

absl::StatusOr<ImportedModel> ImportRecorded(const onnx::ModelProto& model, const Bindings& bindings = {}) {
  absl::StatusOr<ModelFile> file = ModelFile::Parse(model.SerializeAsString(), "model.onnx");
  if (!file.ok()) return file.status();
  return file->Import(bindings);
}

bool Tells(const ImportedModel& model, const std::string& code) {
  for (const Diagnostic& d : model.diagnostics) {
    if (CodeOf(d) == code) return true;
  }
  return false;
}

TEST(Recorded, IsTakenAtTheBatch) {
  const absl::StatusOr<ImportedModel> model =
      ImportRecorded(ModelWith(kRecord), {.batch = 7, .dims = {}, .inputs = {}});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_NE(model->graph.record, nullptr);
  EXPECT_TRUE(model->info.from_record);
  EXPECT_EQ(model->graph.record->place.batch, 7);
  EXPECT_EQ(model->graph.nodes.size(), 1u);  // the graph stays
}

TEST(Recorded, IsLeftWhereTheGraphHasChanged) {
  onnx::ModelProto edited = ModelWith(kRecord);
  edited.mutable_graph()->mutable_node(0)->set_op_type("Neg");
  const absl::StatusOr<ImportedModel> model = ImportRecorded(edited);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.record, nullptr);
  EXPECT_FALSE(model->info.from_record);
  EXPECT_TRUE(Tells(*model, "record-stale"));
}

TEST(Recorded, IsRefusedWhereItIsOfAnotherModel) {
  const auto difference = [](const std::string& from, const std::string& to) {
    std::string record = kRecord;
    record.replace(record.find(from), from.size(), to);
    const absl::StatusOr<ImportedModel> model = ImportRecorded(ModelWith(record));
    EXPECT_FALSE(model.ok()) << record;
    if (model.ok()) return std::string();
    const Diagnostic error = DiagnosticOf(model.status());
    EXPECT_EQ(error.code, Code::kRecordMismatch) << model.status();
    return error.message.substr(error.message.rfind(": ") + 2);
  };
  EXPECT_EQ(difference("x f32[B,4]", "x f32[B,5]"),
            "the input 'x' is float32 [B,5] in the record, float32 [batch,4] in the graph");
  EXPECT_EQ(difference("%0 input x", "%0 input z"), "the graph has no input 'z'");
  EXPECT_EQ(difference("%1 f32", "%2 param w f32[9,9]\n%1 f32"), "the graph stores no 'w'");
}

TEST(Recorded, SaysWhereTheGraphHasNothingToCheckItBy) {
  onnx::ModelProto empty = ModelWith(kRecord);
  empty.mutable_graph()->clear_node();
  empty.mutable_graph()->clear_input();
  empty.mutable_metadata_props(1)->set_value(GraphHash(empty.graph()));
  const absl::StatusOr<ImportedModel> model = ImportRecorded(empty);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(Tells(*model, "record-unverified"));
}

TEST(Recorded, IsLeftWhereItCannotBeRead) {
  const absl::StatusOr<ImportedModel> model = ImportRecorded(ModelWith("eager 2\n"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.record, nullptr);
  EXPECT_TRUE(Tells(*model, "bad-record"));
}

TEST(Recorded, IsLeftWhereOtherSizesAreRequested) {
  Bindings wide;
  wide.inputs["x"] = {2, 8};
  onnx::ModelProto free = ModelWith(kRecord);
  free.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("width");
  free.mutable_graph()
      ->mutable_output(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("width");
  const absl::StatusOr<ImportedModel> model = ImportRecorded(free, wide);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.record, nullptr);
  EXPECT_TRUE(Tells(*model, "record-sizes"));
}

TEST(Recorded, StandsForAGraphThatCouldNotBeWritten) {
  onnx::ModelProto empty = ModelWith(kRecord);
  empty.mutable_graph()->clear_node();
  empty.mutable_metadata_props(1)->set_value(GraphHash(empty.graph()));
  const absl::StatusOr<ImportedModel> model = ImportRecorded(empty, {.batch = 3, .dims = {}, .inputs = {}});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_NE(model->graph.record, nullptr);
  ASSERT_EQ(model->graph.inputs.size(), 1u);
  EXPECT_EQ(ToString(model->graph.tensors[model->graph.inputs[0]].shape), "3x4");
}

TEST(Recorded, IsAFileOfItsOwn) {
  absl::StatusOr<ModelFile> file = ModelFile::Parse(kRecord, "model.eager");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ImportedModel> model = file->Import({.batch = 3, .dims = {}, .inputs = {}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info.producer, "pytorch 2.15.0");
  EXPECT_EQ(model->info.node_count, 1);
  const absl::StatusOr<ImportedModel> other = file->Import({.batch = {}, .dims = {{"height", 3}}, .inputs = {}});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(DiagnosticOf(other.status()).code, Code::kUnknownDim);
  EXPECT_NE(DiagnosticOf(other.status()).details.back().find("free={\"height\": 1}"), std::string::npos);
  const absl::StatusOr<ModelFile> newer = ModelFile::Parse("eager 9\n", "model.eager");
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(DiagnosticOf(newer.status()).code, Code::kBadRecord);
}

TEST(Sha256, GivesTheStandardsExamples) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// x [B, S, 4], in steps of 8 from 16.
constexpr char kFree[] =
    "eager 1\ntorch 2.15.0\nfree S seq 16 step 8 seen 16 64\nprogram eval\n%0 input x f32[B,S,4]\n"
    "%1 f32[B,S,4] = relu %0\nreturn %1\ntree 1\n";

Dims InputAt(const Bindings& bindings) {
  const absl::StatusOr<ImportedModel> model = ImportRecorded(ModelWith(kFree, {"seq"}), bindings);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? model->graph.tensors[model->graph.inputs[0]].shape.dims : Dims();
}

TEST(Recorded, FollowsItsFreeSize) {
  EXPECT_EQ(InputAt({.batch = 3}), (Dims{3, 16, 4}));
  EXPECT_EQ(InputAt({.batch = 3, .dims = {{"seq", 40}}}), (Dims{3, 40, 4}));
}

TEST(Recorded, SaysWhereTheFreeSizeIsFarFromWhatWasSeen) {
  const absl::StatusOr<ImportedModel> near = ImportRecorded(ModelWith(kFree, {"seq"}), {.dims = {{"seq", 64}}});
  const absl::StatusOr<ImportedModel> far = ImportRecorded(ModelWith(kFree, {"seq"}), {.dims = {{"seq", 72}}});
  ASSERT_TRUE(near.ok() && far.ok());
  EXPECT_FALSE(Tells(*near, "record-sizes"));
  EXPECT_TRUE(Tells(*far, "record-sizes"));
}

TEST(Recorded, HoldsForTheBatchesOfItsPath) {
  std::string ghost = kRecord;
  ghost.insert(ghost.find("program"), "batches 2 16\n");
  const absl::StatusOr<ImportedModel> within = ImportRecorded(ModelWith(ghost), {.batch = 16});
  const absl::StatusOr<ImportedModel> beyond = ImportRecorded(ModelWith(ghost), {.batch = 17});
  ASSERT_TRUE(within.ok() && beyond.ok());
  EXPECT_TRUE(within->info.from_record);
  EXPECT_FALSE(beyond->info.from_record);  // the graph is there to be analyzed
  EXPECT_TRUE(Tells(*beyond, "record-sizes"));
  const absl::StatusOr<ModelFile> bare = ModelFile::Parse(ghost, "model.eager");
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_TRUE(bare->Import({.batch = 2}).ok());
  const absl::StatusOr<ImportedModel> unsaid = bare->Import({});
  ASSERT_TRUE(unsaid.ok()) << unsaid.status();
  EXPECT_EQ(unsaid->graph.record->place.batch, 2);
  EXPECT_EQ(unsaid->info.file_batch, 2);
  const absl::StatusOr<ImportedModel> of_graph = ImportRecorded(ModelWith(ghost), {});
  ASSERT_TRUE(of_graph.ok()) << of_graph.status();
  EXPECT_TRUE(of_graph->info.from_record);
  EXPECT_EQ(of_graph->info.file_batch, 2);
  for (const auto& [batch, message] :
       {std::pair<int64_t, std::string>{
            17, "the record holds up to batch 16, not at 17: the model takes another path there"},
        {1, "the record holds from batch 2 on, not at 1: the model takes another path there"}}) {
    const absl::StatusOr<ImportedModel> other = bare->Import({.batch = batch});
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(DiagnosticOf(other.status()).code, Code::kRecordSizes);
    EXPECT_EQ(DiagnosticOf(other.status()).message, message);
  }
}

TEST(Recorded, HoldsForOneBatchAlone) {
  std::string loops = kRecord;
  loops.insert(loops.find("program"), "batches 4 4\n");
  const absl::StatusOr<ModelFile> bare = ModelFile::Parse(loops, "model.eager");
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_TRUE(bare->Import({}).ok());
  const absl::StatusOr<ImportedModel> other = bare->Import({.batch = 8});
  EXPECT_EQ(DiagnosticOf(other.status()).message,
            "the record holds for batch 4 alone, not at 8: the model takes another path there");
  EXPECT_EQ(DiagnosticOf(other.status()).details[0], "try: ... --batch 4");
  EXPECT_EQ(DiagnosticOf(other.status()).details[1],
            "try: onnx_mem.export(model, args, path)   # in Python, with args of batch 8");
}

TEST(Recorded, RefusesASizeBetweenTheSteps) {
  for (const int64_t length : {17, 23, 0, -8}) {
    const absl::StatusOr<ImportedModel> model = ImportRecorded(ModelWith(kFree, {"seq"}), {.dims = {{"seq", length}}});
    ASSERT_FALSE(model.ok()) << length;
    EXPECT_EQ(DiagnosticOf(model.status()).code, Code::kRecordSizes) << length;
  }
  const absl::StatusOr<ImportedModel> between = ImportRecorded(ModelWith(kFree, {"seq"}), {.dims = {{"seq", 17}}});
  EXPECT_NE(between.status().message().find("seq = 16 + k * 8"), std::string::npos) << between.status();
  EXPECT_EQ(DiagnosticOf(between.status()).details[0], "try: ... --dim seq=24   # or a record made at 17");
}

}  // namespace
}  // namespace onnx_mem
