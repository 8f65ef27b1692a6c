// The instant at which an anchor runs, as a minimum-cut problem: of what later anchors need, each item is either
// resident then, or produced again afterwards from items that are (planners' cut bound).
//
//   need a -> keep a (its bytes) or run its producer again (its cost), which needs b -> keep b or ...
//
// With a price per byte of what is kept, the cheapest choice is a minimum cut:
//
//   source -> need a -[price x bytes]-> produce a -> computation of a -[cost]-> sink
//                                       produce a -> need b
//
// An item may serve several requirements ("a, or the bundle that holds a"). Its bytes are divided: a requirement with
// a choice pays what the cheapest alternative costs at least, and an item named alone pays the rest of its bytes.
#ifndef ONNX_MEM_SOLVER_BOUND_CUT_GRAPH_H_
#define ONNX_MEM_SOLVER_BOUND_CUT_GRAPH_H_

#include <cstdint>
#include <map>
#include <vector>

#include "solver/bound/min_cut.h"
#include "solver/problem/first_runs.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

class CutGraph {
 public:
  // Something that can be kept at the instant.
  struct Keep {
    int requirement = 0;
    int arc = 0;
    int need_node = 0;
    int produce_node = 0;  // the sink where nothing can produce it again
    int64_t bytes = 0;
  };
  struct Charge {
    int arc = 0;
    int node = 0;
    int64_t cost = 0;  // beyond what FirstRuns charges behind the anchor
  };

  // What anchors k+1..until need is at stake; what only later ones need is left out.
  CutGraph(const StageProblem& problem, const FirstRuns& first_runs, int64_t budget_bytes, int k, int until);

  // The same for any requirements behind anchor k, with no run charged yet.
  CutGraph(const StageProblem& problem, int64_t budget_bytes, int k, const std::vector<int>& needs);

  int anchor() const { return k_; }
  int64_t room_bytes() const { return room_bytes_; }  // for all that is kept; negative: the anchor itself does not fit
  const std::vector<Keep>& keeps() const { return keeps_; }
  const std::vector<Charge>& charges() const { return charges_; }
  const std::vector<int>& source_arcs() const { return source_arcs_; }  // to what anchors of the window need
  MinCut& cut() { return cut_; }
  const MinCut& cut() const { return cut_; }

 private:
  CutGraph(const StageProblem& problem, const FirstRuns* first_runs, int64_t budget_bytes, int k);
  void DecideAtAnchor(int64_t budget_bytes);
  void AddNeed(int requirement);
  void DescribeAll();
  int64_t TakeShare(int requirement);
  bool IsThere(int requirement) const;
  int NeedNode(int requirement);
  void Describe(int requirement);
  int ComputationNode(int group, int64_t cost);
  void Finish();

  const StageProblem& problem_;
  const FirstRuns* first_runs_;
  const int k_;
  int64_t room_bytes_ = 0;
  MinCut cut_;
  std::vector<int64_t> bytes_left_;  // by item: not yet charged to a requirement with a choice
  std::vector<bool> there_;          // by item: resident in any case
  std::vector<bool> served_;         // by requirement: by what is resident in any case
  std::vector<int> node_of_;         // by requirement, -1
  std::vector<int> open_;
  std::map<int, std::map<int64_t, int>> computations_;  // by group: by cost, the node
  std::vector<Keep> keeps_;
  std::vector<Charge> charges_;
  std::vector<int> source_arcs_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_BOUND_CUT_GRAPH_H_
