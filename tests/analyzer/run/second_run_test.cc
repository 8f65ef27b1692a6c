// What a second run skips, on regions of a few calls.
#include "analyzer/run/second_run.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

// A region that is built call by call: each makes storages of a byte, or writes over one.
class Region {
 public:
  int32_t Outside() {
    calls.storages.push_back({.bytes = 1});
    return static_cast<int32_t>(calls.storages.size()) - 1;
  }
  // Reads `reads`, makes `outputs` storages; the number of the first.
  int32_t Call(const std::string& op, const std::vector<int32_t>& reads, int outputs = 1) {
    const auto index = static_cast<int32_t>(calls.calls.size());
    RegionCall& call = Add(op, reads);
    for (int i = 0; i < outputs; ++i) {
      call.outputs.push_back(static_cast<int32_t>(calls.storages.size()));
      calls.storages.push_back({.bytes = 1, .maker = index, .output = static_cast<int8_t>(i)});
    }
    return outputs > 0 ? call.outputs.front() : -1;
  }
  void View(const std::string& op, int32_t of) { Add(op, {of}).outputs = {of}; }
  void Write(const std::string& op, int32_t over, std::vector<int32_t> reads = {}) {
    reads.push_back(over);
    RegionCall& call = Add(op, reads);
    call.outputs = {over};
    call.writes = {over};
    ++Version(over);
  }
  // By the last call.
  void Save(int32_t storage) {
    calls.saved.push_back({static_cast<int32_t>(calls.calls.size()) - 1, {storage, Version(storage)}});
  }

  // A letter for each call: a again, k kept, s skipped.
  std::string States(const std::vector<KeptCall>& kept) const {
    const KeptInRegion found = KeptIn(calls, kept);
    EXPECT_EQ(found.error, "");
    const std::vector<CallState> states = StatesOf(calls, found.outputs);
    wrong = WrongReadIn(calls, found.outputs, states);
    std::string text;
    for (const CallState state : states) text += std::string("aks")[static_cast<size_t>(state)];
    return text;
  }

  RegionCalls calls;
  mutable std::string wrong;

 private:
  RegionCall& Add(const std::string& op, const std::vector<int32_t>& reads) {
    RegionCall call;
    call.call = {"m", op, 0};
    for (const RegionCall& before : calls.calls) call.call.nth += before.call.op == op;
    call.nth_in_region = call.call.nth;
    call.node = static_cast<int32_t>(calls.calls.size());
    for (const int32_t read : reads) call.reads.push_back({read, Version(read)});
    calls.calls.push_back(std::move(call));
    return calls.calls.back();
  }
  int32_t& Version(int32_t storage) {
    versions_.resize(calls.storages.size(), 0);
    return versions_[static_cast<size_t>(storage)];
  }
  std::vector<int32_t> versions_;
};

// product -> dropout (result, mask) -> sum, which autograd does not save; the mask it does.
Region Block() {
  Region r;
  const int32_t x = r.Outside();
  const int32_t product = r.Call("addmm", {x});
  r.Save(x);
  r.View("view", product);
  const int32_t dropped = r.Call("dropout", {product}, 2);
  r.Save(dropped + 1);
  const int32_t sum = r.Call("add", {dropped, x});
  r.Call("norm", {sum});
  r.Save(sum);
  return r;
}

TEST(SecondRun, RunsWhatIsReadAndNothingElse) {
  const Region r = Block();
  EXPECT_EQ(r.States({}), "aaaas");  // the norm's result leaves, and no backward reads it
  EXPECT_EQ(r.wrong, "");
  // The sum and the mask are there: nobody needs the product.
  EXPECT_EQ(r.States({{{"m", "add", 0}, {}}, {{"m", "dropout", 0}, {1}}}), "sskks");
  EXPECT_EQ(r.wrong, "");
  EXPECT_EQ(r.States({{{"", "addmm", 0}, {}}}), "kaaas");
}

TEST(SecondRun, AnOutputThatIsReadAndNotKeptIsWrong) {
  const Region r = Block();
  EXPECT_EQ(r.States({{{"m", "dropout", 0}, {1}}}), "sskas");
  EXPECT_EQ(r.wrong, "'m:add#0' runs again and reads output 0 of 'm:dropout#0', which is neither kept nor made again");
}

TEST(SecondRun, WritersFollowTheMaker) {
  Region r;
  const int32_t counter = r.Outside();
  const int32_t x = r.Outside();
  r.Write("add_", counter);
  const int32_t normed = r.Call("batch_norm", {x});
  r.Write("relu_", normed);
  r.Save(normed);
  EXPECT_EQ(r.States({}), "saa");  // the counter is from outside
  EXPECT_EQ(r.States({{{"m", "batch_norm", 0}, {}}}), "sks");
  EXPECT_EQ(r.wrong, "");
  const KeptOutputs nothing(r.calls.calls.size());
  EXPECT_EQ(WrongReadIn(r.calls, nothing, StatesBySkip(r.calls, nothing, {{"m", "relu_", 0}}).states),
            "'m:relu_#0' is skipped and writes over what is made again");
}

// The norm runs for its statistics; what is added to its result, which nobody needs, is added again all the same.
TEST(SecondRun, WritersFollowAMakerThatRunsForAnotherResult) {
  Region r;
  const int32_t x = r.Outside();
  const int32_t normed = r.Call("batch_norm", {x}, 2);
  r.Save(normed + 1);
  const int32_t residual = r.Call("mul", {x});
  r.Write("add_", normed, {residual});
  EXPECT_EQ(r.States({}), "aaa");
  EXPECT_EQ(r.wrong, "");
}

TEST(SecondRun, WhatIsKeptIsWhatItFinallyBecame) {
  Region r;
  const int32_t map = r.Call("conv", {r.Outside()});
  const int32_t size = r.Call("norm", {map});
  r.Save(size);
  r.Write("relu_", map);
  r.Save(map);
  EXPECT_EQ(r.States({{{"m", "conv", 0}, {}}}), "kas");
  EXPECT_EQ(r.wrong,
            "'m:norm#0' runs again and reads what 'm:conv#0' made before it was written over, and it is kept as "
            "written over");
}

TEST(RegionCalls, APartIsCountedAnew) {
  Region r;
  const int32_t x = r.Outside();
  const int32_t first = r.Call("add", {x});
  r.Write("relu_", first);
  const int32_t second = r.Call("add", {first});
  r.Save(first);
  r.Call("add", {second});
  const RegionCalls part = PartOf(r.calls, 2, 2);
  ASSERT_EQ(part.calls.size(), 1);
  EXPECT_EQ(part.calls[0].call, (CallId{"m", "add", 0}));
  EXPECT_EQ(part.calls[0].reads, (std::vector<StorageVersion>{{1, 0}}));  // written over before the part begins
  ASSERT_EQ(part.storages.size(), 2);
  EXPECT_EQ(part.storages[0].maker, 0);
  EXPECT_TRUE(part.storages[0].leaves);  // the third add reads it
  EXPECT_EQ(part.storages[1].maker, -1);
  EXPECT_EQ(part.saved.size(), 1);
}

}  // namespace
}  // namespace onnx_mem
