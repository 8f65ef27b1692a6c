// The ONNX library's operator schemas, each built when it is first requested. The library's own registry builds all of
// its 659 at the first question, which takes 8 to 11 ms: ten times what the rest of reading a ResNet-50 takes.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_SCHEMAS_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_SCHEMAS_H_

#include <string>

#include "onnx/defs/schema.h"

namespace onnx_mem {

class Schemas : public onnx::ISchemaRegistry {
 public:
  static const Schemas& Instance();

  // The schema of `op` that opset `version` of `domain` ("" or "ai.onnx": the default one) selects: the newest that is
  // not newer. Null where there is none. Threads may ask at once.
  const onnx::OpSchema* GetSchema(const std::string& op, int version, const std::string& domain) const override;

 private:
  Schemas() = default;
};

// The newest opset of the default domain that the library knows.
int NewestOpset();

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_SCHEMAS_H_
