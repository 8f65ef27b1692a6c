// An answer -> the Report that renders it, when somebody reads it.
#ifndef ONNX_MEM_LIBRARY_RENDERING_H_
#define ONNX_MEM_LIBRARY_RENDERING_H_

#include "cli/answers/answers.h"
#include "include/onnx_mem/onnx_mem.h"

namespace onnx_mem::api {

Report ReportOf(onnx_mem::CommandAnswer answered);

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_LIBRARY_RENDERING_H_
