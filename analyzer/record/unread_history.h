// Results of a recorded step that nothing reads on the way to the loss. One that leads nowhere takes its history with it
// when its name goes (the variance of an autoencoder that is asked for the mean; a largest value that is only
// compared), and what that history saved.
#ifndef ONNX_MEM_ANALYZER_RECORD_UNREAD_HISTORY_H_
#define ONNX_MEM_ANALYZER_RECORD_UNREAD_HISTORY_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem::record {

// Sets the attribute requires_grad_none of their operators. Needs the outputs, the loss and the functions of `lowered`.
void DetachUnread(Lowered& lowered);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_UNREAD_HISTORY_H_
