// The order of the rewrites: each row names those that must have run before it, and these alone decide. Any order that
// keeps to them gives the same lowered model, over the models of testdata.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/prepare/lower.h"
#include "analyzer/prepare/rewrites.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Earlier(const Rewrite& row) {
  if (row.after == "*") {
    std::vector<std::string> others;
    for (const Rewrite& other : AllRewrites()) {
      if (other.name != row.name) others.emplace_back(other.name);
    }
    return others;
  }
  return absl::StrSplit(absl::string_view(row.after.data(), row.after.size()), ' ', absl::SkipEmpty());
}

TEST(RewriteOrder, RowsNameRowsAboveThem) {
  std::set<std::string> above;
  for (const Rewrite& row : AllRewrites()) {
    for (const std::string& name : Earlier(row)) EXPECT_TRUE(above.contains(name)) << name << " before " << row.name;
    above.insert(std::string(row.name));
  }
}

std::string TextOf(const Attribute& attribute) {
  if (const auto* i = std::get_if<int64_t>(&attribute)) return absl::StrCat(*i);
  if (const auto* d = std::get_if<double>(&attribute)) return absl::StrCat(*d);
  if (const auto* s = std::get_if<std::string>(&attribute)) return *s;
  if (const auto* l = std::get_if<std::vector<int64_t>>(&attribute)) return absl::StrJoin(*l, " ");
  if (const auto* l = std::get_if<std::vector<double>>(&attribute)) return absl::StrJoin(*l, " ");
  return "?";
}

// All that the executor and the reports are given, tensors by name.
std::string Dump(const Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  const auto names = [&](const TensorIds& ids) {
    return absl::StrJoin(ids, ",", [&](std::string* out, TensorId id) {
      absl::StrAppend(out, id.valid() ? graph.tensors[id].name : std::string("-"));
    });
  };
  std::string text;
  for (const FrameworkNode& node : graph.nodes) {
    absl::StrAppend(&text, node.op.str(), "(", names(node.inputs), ") -> ", names(node.outputs), " ", node.name, " ",
                    absl::StrJoin(node.calls, ">"), " ", node.module, " ", node.framework_op);
    for (const auto& [key, value] : node.attributes) absl::StrAppend(&text, " ", key, "=", TextOf(value));
    text += "\n";
  }
  std::multiset<std::string> unordered;
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    unordered.insert(absl::StrCat(tensor.name, " ", ToString(tensor.shape), static_cast<int>(lowered.kinds[id]),
                                  lowered.frozen.contains(id)));
  }
  for (const auto* notes : {&lowered.diagnostics, &lowered.plain_rewrites}) {
    for (const Diagnostic& note : *notes)
      unordered.insert(absl::StrCat(CodeOf(note), " ", note.count, note.message, absl::StrJoin(note.details, "|")));
  }
  return absl::StrCat(text, absl::StrJoin(unordered, "\n"), "\n", lowered.hidden_buffer_bytes);
}

using Order = std::vector<Rewrite>;

// An order that keeps to what the rows name, any of them as likely as another at each step.
Order AnyOrder(std::mt19937& random) {
  std::vector<Rewrite> left(AllRewrites().begin(), AllRewrites().end());
  std::set<std::string> done;
  Order order;
  while (!left.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < left.size(); ++i) {
      const std::vector<std::string> earlier = Earlier(left[i]);
      const bool is_ready =
          std::all_of(earlier.begin(), earlier.end(), [&](const auto& e) { return done.contains(e); });
      if (is_ready) ready.push_back(i);
    }
    const size_t pick = ready[random() % ready.size()];
    done.insert(std::string(left[pick].name));
    order.push_back(left[pick]);
    left.erase(left.begin() + static_cast<int64_t>(pick));
  }
  return order;
}

// The rows of the table sorted into `order` by swaps of neighbours: the state after so many of them.
Order AfterSwaps(const Order& order, size_t swaps, std::string* last = nullptr) {
  std::map<std::string_view, size_t> place;
  for (size_t i = 0; i < order.size(); ++i) place[order[i].name] = i;
  Order state(AllRewrites().begin(), AllRewrites().end());
  for (size_t end = state.size(); end-- > 1;) {
    for (size_t i = 0; i < end; ++i) {
      if (place[state[i].name] < place[state[i + 1].name]) continue;
      if (swaps-- == 0) return state;
      if (last != nullptr) *last = absl::StrCat(std::string(state[i].name), " before ", std::string(state[i + 1].name));
      std::swap(state[i], state[i + 1]);
    }
  }
  return state;
}

size_t CountSwaps(const Order& order) {
  std::map<std::string_view, size_t> place;
  for (size_t i = 0; i < order.size(); ++i) place[order[i].name] = i;
  size_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = 0; j < i; ++j) count += place[AllRewrites()[j].name] > place[AllRewrites()[i].name];
  }
  return count;
}

std::vector<onnx_mem::Run> Runs() {
  onnx_mem::Run training, inference, half;
  inference.training = false;
  half.dtype = DType::kFloat16;
  half.attention = AttentionKernel::kEager;
  half.dropout = 0.1;
  return {training, inference, half};
}

class RewriteOrder : public testing::TestWithParam<std::string> {};

TEST_P(RewriteOrder, WhatTheRowsNameDecides) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ImportedModel> model = file->Import({.batch = 2});
  if (!model.ok()) model = file->Import({.batch = 2, .dims = {{"seq", 16}}});
  if (const auto sizes = file->WithSizes({}); !model.ok() && sizes.ok()) model = file->Import(*sizes);
  ASSERT_TRUE(model.ok()) << model.status();
  std::mt19937 random(17);
  for (const onnx_mem::Run& run : Runs()) {
    const auto dump = [&](const Order& order) { return Dump(*Lower(model->graph, run, order)); };
    const std::string table = dump(Order(AllRewrites().begin(), AllRewrites().end()));
    constexpr int kOrders = 8;
    for (int i = 0; i < kOrders; ++i) {
      const Order order = AnyOrder(random);
      if (dump(order) == table) continue;
      size_t same = 0, other = CountSwaps(order);  // swaps after which the model is that of the table, and is not
      while (other - same > 1) {
        const size_t middle = (same + other) / 2;
        (dump(AfterSwaps(order, middle)) == table ? same : other) = middle;
      }
      std::string rows;
      AfterSwaps(order, other, &rows);
      FAIL() << "a row does not name what must run before it: " << rows;
    }
  }
}

std::vector<std::string> Models() {
  std::vector<std::string> paths;
  for (const char* folder : {"models", "fresh"}) {
    for (const auto& entry : fs::directory_iterator(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/" + folder)) {
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string NameOfFile(const testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).stem().string();
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, RewriteOrder, testing::ValuesIn(Models()), NameOfFile);

}  // namespace
}  // namespace onnx_mem
