// absl::StatusOr -> Result, and no exception gets past it.
#ifndef ONNX_MEM_LIBRARY_GUARD_H_
#define ONNX_MEM_LIBRARY_GUARD_H_

#include <exception>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/run/work.h"
#include "include/onnx_mem/onnx_mem.h"
#include "library/answers.h"

namespace onnx_mem::api {

// `answer` is a function that returns absl::StatusOr<T>.
template <class T, class F>
Result<T> Guarded(F answer) {
  const work::Counting counting;
  try {
    absl::StatusOr<T> answered = answer();
    if (!answered.ok()) return ErrorFrom(answered.status());
    return *std::move(answered);
  } catch (const std::bad_alloc&) {
    return ErrorFrom(
        ErrorStatus(absl::StatusCode::kResourceExhausted, Code::kTooLarge, "not enough memory for this model"));
  } catch (const std::exception& error) {
    return ErrorFrom(absl::InternalError(error.what()));
  }
}

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_LIBRARY_GUARD_H_
