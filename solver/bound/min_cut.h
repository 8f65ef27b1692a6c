// Minimum cuts of directed graphs with integer capacities: push-relabel (Goldberg and Tarjan 1988), highest label
// first, with global relabelling and the gap rule. Only the first phase runs, which is all that a cut needs.
//
//   s -5-> a -3-> t        cut value 3, nodes on the source side: s, a
//
// The graph is built once; capacities may then change between cuts.
#ifndef ONNX_MEM_SOLVER_BOUND_MIN_CUT_H_
#define ONNX_MEM_SOLVER_BOUND_MIN_CUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onnx_mem {

class MinCut {
 public:
  // Nodes 0 (source) and 1 (sink) are there from the start.
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  int AddNode() { return node_count_++; }
  int node_count() const { return node_count_; }

  // The arc's number, for SetCapacity. No capacity may exceed 2^61.
  int AddArc(int from, int to, int64_t capacity = 0);
  void SetCapacity(int arc, int64_t capacity) { capacity_[static_cast<size_t>(arc)] = capacity; }

  __extension__ typedef __int128 Wide;

  // The value of a minimum cut.
  Wide Solve();

  // Arcs looked at since the start: a clock that runs alike on every machine.
  int64_t work() const { return total_work_; }

  // After Solve: the node cannot reach the sink any more. Of all minimum cuts, the one with the most such nodes.
  bool OnSourceSide(int node) const { return label_[static_cast<size_t>(node)] >= node_count_; }

 private:
  void Link();
  void LoadCapacities();
  void Relabel();  // every label becomes the distance to the sink
  void Activate(int node);
  void Discharge(int node);
  void CloseGap(int label);
  // Puts a node into the list of its label, or takes it out.
  void Enlist(int node);
  void Strike(int node);

  struct Half {
    int to = 0;
    int reverse = 0;  // index of the opposite half
    int64_t left = 0;
  };

  int node_count_ = 2;
  std::vector<int> from_;
  std::vector<int> to_;
  std::vector<int64_t> capacity_;
  bool linked_ = false;
  std::vector<int> first_;  // by node, into halves_; one more at the end
  std::vector<Half> halves_;
  std::vector<int> half_of_;  // by arc
  std::vector<Wide> excess_;
  std::vector<int> label_;
  std::vector<int> current_;
  std::vector<int> queue_;
  std::vector<std::vector<int>> active_;  // by label
  // Nodes that have a label, each list from its first one on; -1 ends it.
  std::vector<int> first_with_;      // by label
  std::vector<int> after_, before_;  // by node
  int top_ = 0;                      // no node in a list has a higher label
  int highest_ = 0;
  int64_t work_ = 0;  // since the last global relabelling
  int64_t total_work_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_BOUND_MIN_CUT_H_
