// The tensors that a record's values are while its lines are lowered, and when Python drops each.
#ifndef ONNX_MEM_ANALYZER_RECORD_LOWER_VALUE_TENSORS_H_
#define ONNX_MEM_ANALYZER_RECORD_LOWER_VALUE_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/graph/shape.h"
#include "analyzer/record/format/record.h"
#include "analyzer/run/run.h"

namespace onnx_mem::record {

// A value of the host is none of the device's tensors.
bool IsOnHost(const Value& value);

class ValueTensors {
 public:
  // Adds to `out`, which outlives this.
  ValueTensors(const Program& program, const Place& place, const Run& run, Lowered& out);

  // What is stored or fed.
  absl::Status Declare();

  const Value& value(ValueNumber number) const { return program_.values[static_cast<size_t>(number)]; }
  // What the value's name stands for now; invalid where it has none.
  TensorId& operator[](ValueNumber number) { return tensor_of_[static_cast<size_t>(number)]; }

  // An output of the program, or its loss.
  bool IsHeldByCaller(ValueNumber number) const { return held_.contains(number); }

  // A new tensor for what a line makes, "%31", and for what it writes over, "%31.2".
  absl::StatusOr<TensorId> Make(ValueNumber number);
  absl::StatusOr<TensorId> MakeAgain(ValueNumber number);

  // Strides of a value at this place, in elements; empty where they are row-major. Error: "bad-record" where a size is
  // no whole number here.
  absl::StatusOr<Dims> StridesOf(const ValueType& type) const;

  // The node after which the last reference to the tensor is dropped; -1: none yet.
  int32_t& release(TensorId id) { return releases_[id.index()]; }

  // What the caller holds, an output or a cache in one, is there to the end. Writes Lowered::releases.
  void Finish();

 private:
  absl::StatusOr<TensorId> Add(ValueNumber number, std::string name, TensorKind kind);
  absl::Status DeclareLayout(const ValueType& type, TensorId id);

  const Program& program_;
  Place place_;
  const Run& run_;
  Lowered& out_;
  TensorIds tensor_of_;            // by value
  std::vector<int32_t> releases_;  // by tensor
  absl::flat_hash_map<ValueNumber, int> versions_;
  absl::flat_hash_set<ValueNumber> held_;
};

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_LOWER_VALUE_TENSORS_H_
