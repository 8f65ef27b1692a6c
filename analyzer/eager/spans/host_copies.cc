#include "analyzer/eager/spans/host_copies.h"

#include <algorithm>
#include <utility>

namespace onnx_mem::eager {

std::vector<std::shared_ptr<HostCall>> OffloadOrder::GroupBefore(size_t index) const {
  std::vector<std::shared_ptr<HostCall>> group;
  const auto is_held = [&](size_t i) { return calls[i].mode == Offload::kHeld; };
  for (size_t i = index; i-- > 0 && (i + 1 == index || (is_held(i) && is_held(i + 1)));) {
    if (auto call = calls[i].call.lock()) group.push_back(std::move(call));
  }
  return group;
}

HostCopy::HostCopy(Machine& m, std::shared_ptr<Storage> storage)
    : m_(m), original_(storage->buffer), version_(storage->version) {
  returned_ = std::make_shared<Storage>(&m.recorder(), BufferId(), storage->bytes);
  on_device_ = std::move(storage);
  m_.recorder().AddHostBytes(returned_->bytes);
}

void HostCopy::BeginReturn() {
  m_.recorder().BeginMove("copy from host");
  returned_->Materialize({bytes()}, DType::kUInt8);
  m_.recorder().SetCategory(returned_->buffer, Category::kSavedActivations);
  m_.recorder().AddLinkBytes(bytes());
  on_device_ = returned_;
  fetched_ = m_.recorder().current_step();
}

const std::shared_ptr<Storage>& HostCopy::OnDevice() {
  if (fetched_.valid() && !std::exchange(waited_, true)) {
    m_.recorder().BeginMove("wait for host");
    m_.recorder().WaitFor(fetched_);
  }
  return on_device_;
}

std::shared_ptr<HostCopy> HostCall::CopyOf(const std::shared_ptr<Storage>& storage) {
  for (const std::weak_ptr<HostCopy>& entry : copies_) {
    std::shared_ptr<HostCopy> known = entry.lock();
    if (known != nullptr && known->IsOf(*storage)) return known;
  }
  auto copy = std::make_shared<HostCopy>(m_, storage);
  copies_.push_back(copy);
  return copy;
}

void HostCall::BeginCopies() {
  for (; begun_ < copies_.size(); ++begun_) {
    const std::shared_ptr<HostCopy> copy = copies_[begun_].lock();
    if (copy == nullptr) continue;
    m_.recorder().BeginMove("copy to host");
    m_.recorder().AddLinkBytes(copy->bytes());
    last_copy_ = m_.recorder().current_step();
  }
}

void HostCall::EndForward(bool tells) {
  if (!tells) return;
  index_ = order_->calls.size();
  order_->calls.push_back({mode_, weak_from_this()});
  const bool continues = mode_ == Offload::kHeld && index_ > 0 && order_->calls[index_ - 1].mode == Offload::kHeld;
  if (!continues) {
    for (const auto& before : order_->GroupBefore(index_)) before->LeaveDevice();
  }
  if (mode_ == Offload::kWaiting) LeaveDevice();
}

void HostCall::LeaveDevice() {
  bool any = false;
  for (const std::weak_ptr<HostCopy>& entry : copies_) {
    const std::shared_ptr<HostCopy> copy = entry.lock();
    if (copy == nullptr || !copy->on_device()) continue;
    if (!std::exchange(any, true)) {
      m_.recorder().BeginMove("wait for host");
      m_.recorder().WaitFor(last_copy_);
    }
    copy->LeaveDevice();
  }
}

void HostCall::FetchBack() {
  std::vector<std::weak_ptr<HostCopy>> order = copies_;
  if (returns_ == ReturnOrder::kLastFirst) std::reverse(order.begin(), order.end());
  for (const std::weak_ptr<HostCopy>& entry : order) {
    const std::shared_ptr<HostCopy> copy = entry.lock();
    if (copy != nullptr && !copy->on_device()) copy->BeginReturn();
  }
}

void HostCall::BeginReturn() {
  if (std::exchange(returned_, true)) return;
  FetchBack();
  for (const auto& before : order_->GroupBefore(index_)) before->FetchBack();
}

MovedTensor::MovedTensor(Machine& m, std::shared_ptr<HostCall> call, const TensorRef& t)
    : call_(std::move(call)), copy_(call_->CopyOf(t->storage)), tensor_(m.Alias(t, t->dims, t->strides, t->is_view)) {
  tensor_->storage.reset();
}

TensorRef MovedTensor::OnDevice() const {
  call_->BeginReturn();
  auto t = std::make_shared<EagerTensor>(*tensor_);
  t->storage = copy_->OnDevice();
  return t;
}

bool MayMove(Machine& m, const TensorRef& t) {
  const Category category = m.recorder().category(t->storage->buffer);
  return category != Category::kParameters && category != Category::kBuffers && t->storage->bytes >= kLeastOffloadBytes;
}

}  // namespace onnx_mem::eager
