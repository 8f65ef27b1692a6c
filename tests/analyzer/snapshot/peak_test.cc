// Pickles are read without running anything, and a snapshot that we write reads back as it was.
#include "analyzer/snapshot/peak.h"

#include <gtest/gtest.h>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/snapshot/pickle.h"
#include "analyzer/snapshot/snapshot.h"
#include "report/analyze/report.h"
#include "report/parts/formats.h"
#include "report/parts/pickle_writer.h"
#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

using std::literals::string_literals::operator""s;

TEST(PickleReader, ReadsWhatTheWriterWrote) {
  PickleWriter pickle;
  pickle.BeginDict();
  pickle.String("numbers").BeginList();
  const std::vector<int64_t> written = {0, 255, -1, 1 << 20, int64_t{1} << 40, -(int64_t{1} << 40)};
  for (int64_t number : written) pickle.Int(number);
  pickle.EndList().String("yes").Bool(true).String("text").String("yes").EndDict();
  const std::string bytes = pickle.Take();
  const absl::StatusOr<PickledValues> values = ReadPickle(bytes, "x.pickle");
  ASSERT_TRUE(values.ok()) << values.status();
  std::vector<int64_t> numbers;
  for (PickledValues::Id id : values->ItemsOf(values->At(values->root(), "numbers"))) {
    numbers.push_back(values->IntOf(id));
  }
  EXPECT_EQ(numbers, written);
  EXPECT_EQ(values->IntOf(values->At(values->root(), "yes")), 1);
  EXPECT_EQ(values->TextOf(values->At(values->root(), "text")), "yes");
}

TEST(PickleReader, LongListsComeInBatches) {
  PickleWriter pickle;
  pickle.BeginList();
  for (int i = 0; i < 2500; ++i) pickle.Int(i);
  pickle.EndList();
  const std::string bytes = pickle.Take();
  const absl::StatusOr<PickledValues> values = ReadPickle(bytes, "x.pickle");
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->ItemsOf(values->root()).size(), 2500u);
}

TEST(PickleReader, RefusesWhatWouldRunOrIsBroken) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x80\x02"
       "cos\nsystem\n."s,
       "holds objects or code, not plain values alone: it was not read"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93."s, "holds objects or code, not plain values alone: it was not read"},
      {"\x80\x02}R."s, "holds objects or code, not plain values alone: it was not read"},
      {"\x80\x02]("s, "ends in the middle"},
      {"\x80\x02X\xff\xff\xff\x7f."s, "ends in the middle"},
      {"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s, "ends in the middle"},
      {"\x80\x02u."s, "has no mark where one is needed"},
      {"\x80\x02K\x01s."s, "takes more values than it has made"},
      {"\x80\x02K\x01(K\x02"
       "e."s,
       "adds to what is no list or dict"},
      {"\x80\x02}(K\x01u."s, "has a key without a value"},
      {"\x80\x02h\x07."s, "reads what it has not kept"},
      {"\x80\x02."s, "leaves more than one value"},
      {"\x80\x02](]."s, "leaves more than one value"},
      {""s, "ends in the middle"},
  };
  for (const auto& [bytes, what] : cases) {
    const absl::Status status = ReadPickle(bytes, "x.pickle").status();
    EXPECT_NE(std::string(status.message()).find(what), std::string::npos) << status;
    EXPECT_EQ(DiagnosticOf(status).code, Code::kBadPickle);
  }
}

// Depth, numbers and marks that no pickler writes cost no more than the file's own size.
TEST(PickleReader, HostileFilesAreErrors) {
  const std::string deep = "\x80\x02" + std::string(1000000, '(') + std::string(1000000, ']');
  EXPECT_EQ(DiagnosticOf(ReadPickle(deep, "x.pickle").status()).code, Code::kBadPickle);
  const std::string nested = "\x80\x02" + std::string(1000000, ']') + std::string(999999, 'a') + ".";
  EXPECT_TRUE(ReadPickle(nested, "x.pickle").ok());
  const std::string far = "\x80\x02]r\xff\xff\xff\xff."s;
  EXPECT_NE(ReadPickle(far, "x.pickle").status().message().find("number that is too large"), std::string::npos);
  const std::string long_number = "\x80\x02\x8b\xff\xff\xff\xff."s;
  EXPECT_EQ(DiagnosticOf(ReadPickle(long_number, "x.pickle").status()).code, Code::kBadPickle);
}

// A list that contains itself is read, and looked at no deeper than a snapshot is nested.
TEST(PickleReader, AListMayContainItself) {
  const std::string bytes =
      "\x80\x02]q\x00h\x00"
      "a."s;
  const absl::StatusOr<PickledValues> values = ReadPickle(bytes, "x.pickle");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->ItemsOf(values->root()).front(), values->root());
  EXPECT_EQ(DiagnosticOf(ParseSnapshot(bytes, "x.pickle").status()).code, Code::kBadPickle);
}

TEST(ParseSnapshot, HasOurPeak) {
  auto analysis = std::make_shared<Analysis>(SampleAnalysis());
  const RunFigures& figures = *analysis->training();
  Report report = BuildReport({}, {Summarize(*analysis)}, {}, *analysis);
  std::get<AnalyzePart>(report.part).analysis = analysis;
  const absl::StatusOr<AllocatorSnapshot> snapshot = ParseSnapshot(RenderSnapshot(report, Screen()), "x.pickle");
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  const SnapshotPeak peak = PeakOf(*snapshot);
  EXPECT_EQ(peak.requested_bytes, figures.peak_bytes);
  int64_t sum = 0;
  for (const PeakBlock& block : peak.blocks) sum += block.bytes;
  EXPECT_EQ(sum, figures.peak_bytes);
  EXPECT_GE(peak.allocated_bytes, figures.peak_bytes);
}

// One block at the end; before it a larger one came and went, of which the history tells.
TEST(ParseSnapshot, FindsThePeakByUndoingEvents) {
  PickleWriter pickle;
  const auto event = [&](std::string_view action, int64_t address, int64_t bytes) {
    pickle.BeginDict().String("action").String(action).String("addr").Int(address).String("size").Int(bytes);
    pickle.String("frames").BeginList();
    for (std::string_view file : {"/x/torch/nn/functional.py", "/home/me/model.py"}) {
      pickle.BeginDict().String("filename").String(file).String("line").Int(41);
      pickle.String("name").String("forward").EndDict();
    }
    pickle.EndList().EndDict();
  };
  pickle.BeginDict().String("segments").BeginList();
  pickle.BeginDict().String("device").Int(0).String("total_size").Int(4096).String("address").Int(4096);
  pickle.String("blocks").BeginList().BeginDict().String("size").Int(512).String("requested_size").Int(100);
  pickle.String("state").String("active_allocated").EndDict().EndList().EndDict();
  pickle.EndList().String("device_traces").BeginList().BeginList();
  event("alloc", 4096, 100);
  event("alloc", 4608, 1000);
  event("free_requested", 4608, 1000);
  event("free_completed", 4608, 1000);
  pickle.EndList().EndList().EndDict();
  const absl::StatusOr<AllocatorSnapshot> snapshot = ParseSnapshot(pickle.Take(), "x.pickle");
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  const SnapshotPeak peak = PeakOf(*snapshot);
  EXPECT_EQ(peak.requested_bytes, 1100);
  EXPECT_EQ(peak.allocated_bytes, 512 + 1024);
  EXPECT_EQ(peak.reserved_bytes, 4096);
  EXPECT_EQ(snapshot->events.size(), 4u);
  ASSERT_EQ(peak.blocks.size(), 2u);
  EXPECT_EQ(peak.blocks[0].bytes, 1000);
  EXPECT_EQ(WhereText(*snapshot, peak.blocks[0].stack), "model.py:41 forward");
}

}  // namespace
}  // namespace onnx_mem
