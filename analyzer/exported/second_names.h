// Parameters and buffers that the program lists under two names -> those names that no operator reads, as it reads them
// under the other one. torch.export lists all names of a tensor that modules share, gives it to the model under one
// after the other, and the last one stays (torch/nn/utils/stateless.py, _reparametrize_module).
//
//   self.net = nn.Sequential(self.conv1, self.relu, self.conv2)     conv1.weight is net.0.weight
//   Decoder(encoder)                                                encoder.fc.weight is decoder.encoder.fc.weight
#ifndef ONNX_MEM_ANALYZER_EXPORTED_SECOND_NAMES_H_
#define ONNX_MEM_ANALYZER_EXPORTED_SECOND_NAMES_H_

#include <string>
#include <vector>

#include "analyzer/graph/program_signature.h"

namespace onnx_mem {

// A call that runs in a module and reads what is listed as another module's.
struct ForeignRead {
  std::string module;  // "encoder.fc"
  std::string target;  // "decoder.encoder.fc.weight"
};

// Takes them out of `unread`, which are of one kind.
void EraseSecondNames(const ProgramSignature& signature, SignatureKind kind, const std::vector<ForeignRead>& reads,
                      std::vector<std::string>& unread);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_SECOND_NAMES_H_
