// Lowered graph -> what torch.utils.checkpoint can wrap: whole modules, and runs of neighbouring children of an
// nn.Sequential. These are the only choices that a planner of module granularity has.
//
//   layer1 = Sequential(Block, Block, Block):   layer1 | layer1.0 | layer1.1 | layer1.2 | layer1.0-1 | layer1.1-2
//
// A candidate is a range of lowered nodes that holds every node of its modules and no other. Items of a ModuleList are
// candidates one by one: user code loops over them, so nothing can wrap several. A module that is called more than once
// is none. A file without module paths offers runs of nodes between points where one tensor crosses.
#ifndef ONNX_MEM_PLANNER_MEASURE_CANDIDATES_H_
#define ONNX_MEM_PLANNER_MEASURE_CANDIDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "analyzer/run/run.h"
#include "planner/measure/granularity.h"

namespace onnx_mem {

struct Candidate {
  Segment segment;
  std::string label;  // "layer1", "layer1.0-1"
  int32_t first = 0;  // lowered nodes, inclusive
  int32_t last = 0;
  bool is_run = false;    // of several children
  bool is_block = false;  // one of several numbered children: layer1.0, encoder.layer.3; outermost such level
  bool is_stage = false;  // a child of the root (or of the only child of the root, and so on)

  bool Overlaps(const Candidate& other) const { return first <= other.last && other.first <= last; }
};

struct CandidateSet {
  std::vector<Candidate> list = {};            // by first node, longest first
  bool by_module = true;                       // false: runs of nodes
  std::vector<std::string> called_twice = {};  // modules that were left out because they are called more than once
};

// With granularity op each candidate that holds matrix products or convolutions is there a second time, keeping their
// results (selective checkpointing): its second run computes only what is cheap.
CandidateSet FindCandidates(const Lowered& lowered, Granularity granularity = Granularity::kModule);

// Without ranges that cannot run again: those that begin by writing over what they read from outside, and parts of an
// autograd.Function.
void DropUnrepeatable(const Lowered& lowered, CandidateSet& set);

// Modules whose saved tensors may go to the host: also those of one operator, and those that could not run again.
CandidateSet FindPlaces(const Lowered& lowered);

// Disjoint candidates of one plan, by index, in order of their nodes.
using Choice = std::vector<int32_t>;

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_CANDIDATES_H_
