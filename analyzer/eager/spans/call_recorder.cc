#include "analyzer/eager/spans/call_recorder.h"

#include <algorithm>
#include <utility>

#include "analyzer/eager/spans/dispatch_names.h"

namespace onnx_mem::eager {

namespace {

bool WorksInPlace(const Lowered& lowered, int32_t node) {
  return IntAttribute(lowered.graph.nodes[NodeId(node)], "inplace", 0) != 0;
}

}  // namespace

bool IsCopyForAutograd(const Lowered& lowered, int32_t node, std::string_view op) {
  return lowered.recorded && op == "clone" && WorksInPlace(lowered, node);
}

void CallRecorder::BeginNode(int32_t node) {
  node_ = node;
  current_ = -1;
  first_of_node_ = static_cast<int32_t>(region_.calls.size());
  if (!lowered_.recorded) return;
  std::string name = DispatchNameOf(lowered_.graph.nodes[NodeId(node)]);
  if (name.empty()) return;
  Begin();
  Name(std::move(name));
}

void CallRecorder::DispatchOfRecord(std::string_view op) {
  if (current_ < 0) return;
  if (IsCopyForAutograd(lowered_, node_, op)) {
    RegionCall copy;
    copy.node = node_;
    copy.call.module = call(current_).call.module;
    copy.first_step = call(current_).first_step;
    region_.calls.insert(region_.calls.begin() + current_, std::move(copy));
    Name("aten.clone.default");
  } else if (current_ == first_of_node_ && static_cast<size_t>(current_) + 1 < region_.calls.size()) {
    ++current_;
    call(current_).first_step = m_.recorder().program().steps.next_id().value();
  }
}

void CallRecorder::Dispatch(std::string_view op) {
  if (lowered_.recorded) return DispatchOfRecord(op);
  EndCall();
  Begin();
  step_ = op;
}

void CallRecorder::Begin() {
  RegionCall next;
  next.node = node_;
  next.call.module = lowered_.graph.nodes[NodeId(node_)].module;
  next.first_step = next.end_step = m_.recorder().program().steps.next_id().value();
  current_ = static_cast<int32_t>(region_.calls.size());
  region_.calls.push_back(std::move(next));
}

void CallRecorder::Name(std::string name) {
  RegionCall& c = call(current_);
  if (!c.call.op.empty()) return;
  c.call.op = std::move(name);
  c.nth_in_region = counts_[CallId{"", c.call.op, 0}]++;
  c.call.nth = c.call.module.empty() ? c.nth_in_region : counts_[c.call]++;
  c.draws = DrawsNumbers(c.call.op);
}

// A step that has allocated nothing works in place.
void CallRecorder::EndCall() {
  if (current_ >= 0) Name(DispatchNameOfStep(step_.ends_with('_') ? step_ : step_ + "_"));
}

size_t CallRecorder::Index(const TensorRef& t) {
  const auto [known, added] = storages_.emplace(t->storage->buffer, static_cast<int32_t>(region_.storages.size()));
  if (added) {
    const Category category = m_.recorder().category(t->storage->buffer);
    RegionStorage storage{.bytes = t->storage->bytes};
    storage.parameter =
        category == Category::kParameters || category == Category::kBuffers || category == Category::kInputs;
    region_.storages.push_back(storage);
    versions_.push_back(0);
  }
  return static_cast<size_t>(known->second);
}

StorageVersion CallRecorder::VersionOf(const TensorRef& t) {
  const size_t index = Index(t);
  return {static_cast<int32_t>(index), versions_[index]};
}

void CallRecorder::AddOutput(int output, const TensorRef& t) {
  if (current_ < 0) return;
  Name(DispatchNameOfStep(step_));
  const size_t index = Index(t);
  region_.storages[index].maker = current_;
  region_.storages[index].output = static_cast<int8_t>(output);
  std::vector<int32_t>& outputs = call(current_).outputs;
  outputs.resize(std::max(outputs.size(), static_cast<size_t>(output) + 1), -1);
  outputs[static_cast<size_t>(output)] = static_cast<int32_t>(index);
}

// What works in place gives back what was there before.
void CallRecorder::AddWrites(int32_t writer, std::span<const TensorRef> outputs) {
  for (const TensorRef& output : outputs) {
    if (output == nullptr) continue;
    const size_t index = Index(output);
    if (region_.storages[index].maker >= writer) continue;
    call(writer).writes.push_back(static_cast<int32_t>(index));
    ++versions_[index];
  }
}

void CallRecorder::EndNode(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs) {
  EndCall();
  const auto end = static_cast<int32_t>(region_.calls.size());
  const int32_t end_step = m_.recorder().program().steps.next_id().value();
  for (int32_t i = first_of_node_; i < end; ++i) {
    call(i).end_step = i + 1 < end ? call(i + 1).first_step : end_step;
    for (const TensorRef& input : inputs) {
      if (input != nullptr) call(i).reads.push_back(VersionOf(input));
    }
    if (lowered_.recorded) continue;
    for (int32_t before = first_of_node_; before < i; ++before) {
      for (const int32_t made : call(before).outputs) {
        if (made >= 0) call(i).reads.push_back({made, 0});
      }
    }
  }
  const bool in_place = WorksInPlace(lowered_, node_);
  for (int32_t i = first_of_node_; i < end; ++i) {
    const bool writes = in_place && lowered_.recorded && i + 1 == end;
    if (!call(i).outputs.empty() && !writes) continue;
    if (in_place || !lowered_.recorded) AddWrites(i, outputs);
    if (!call(i).outputs.empty()) continue;
    for (const TensorRef& output : outputs) {
      call(i).outputs.push_back(output != nullptr ? static_cast<int32_t>(Index(output)) : -1);
    }
  }
  current_ = -1;
}

void CallRecorder::Save(const TensorRef& t) {
  const auto last = static_cast<int32_t>(region_.calls.size()) - 1;
  region_.saved.push_back({std::max(last, 0), VersionOf(t)});
}

}  // namespace onnx_mem::eager
