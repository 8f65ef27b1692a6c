// absl::StatusOr -> Result, and no exception gets past it.
#ifndef ONNX_MEM_LIBRARY_GUARD_H_
#define ONNX_MEM_LIBRARY_GUARD_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "include/onnx_mem/onnx_mem.h"
#include "library/told_answers.h"

namespace onnx_mem::api {

// `answer` is a function that returns absl::StatusOr<T>.
template <class T, class F>
Result<T> Guarded(F answer) {
  try {
    absl::StatusOr<T> answered = answer();
    if (!answered.ok()) return ErrorFrom(answered.status());
    return *std::move(answered);
  } catch (const std::exception& error) {
    return ErrorFrom(absl::InternalError(error.what()));
  }
}

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_LIBRARY_GUARD_H_
