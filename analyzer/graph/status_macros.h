// Early return for absl::Status and absl::StatusOr; nothing else.
#ifndef ONNX_MEM_ANALYZER_GRAPH_STATUS_MACROS_H_
#define ONNX_MEM_ANALYZER_GRAPH_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ONNX_MEM_CONCAT_INNER(a, b) a##b
#define ONNX_MEM_CONCAT(a, b) ONNX_MEM_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                          \
  do {                                                 \
    absl::Status onnx_mem_status = (expr);             \
    if (!onnx_mem_status.ok()) return onnx_mem_status; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_IMPL(ONNX_MEM_CONCAT(onnx_mem_statusor_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(var, lhs, expr) \
  auto var = (expr);                          \
  if (!var.ok()) return var.status();         \
  lhs = std::move(var).value()

#endif  // ONNX_MEM_ANALYZER_GRAPH_STATUS_MACROS_H_
