// Choices of candidates as plans for people: names, nodes, what each segment frees and costs; and the choices that
// people make by hand.
#ifndef ONNX_MEM_PLANNER_CODE_DESCRIBE_H_
#define ONNX_MEM_PLANNER_CODE_DESCRIBE_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/framework_graph.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"

namespace onnx_mem {

// "layer1, layer2.0", "7 blocks", of others as `many` says: "9 segments"; "none" for the empty choice.
std::string LabelOf(const Profile& profile, const Choice& choice, std::string_view many = "segments");

// Labels that several plans of calls have get what tells them apart: how many calls each keeps, and where that is the
// same a number: "h.0 keeping 2 calls", "h.0 keeping 2 calls (2)".
void TellApart(std::vector<ModulePlan>& plans);

// Every candidate of one kind: &Candidate::is_stage, every child of the root; &Candidate::is_block, every block.
Choice Convention(const Profile& profile, bool Candidate::*kind);

// All of a plan but its measured figures. `graph` is the lowered one.
ModulePlan Described(const FrameworkGraph& graph, const Profile& profile, const Choice& choice, std::string method,
                     std::string label);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_DESCRIBE_H_
