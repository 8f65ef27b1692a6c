// Plans that were enacted, and among them the front: those that no other plan beats in both peak and recomputation.
#ifndef ONNX_MEM_PLANNER_MODEL_FRONT_H_
#define ONNX_MEM_PLANNER_MODEL_FRONT_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/model/accountant.h"
#include "planner/model/profile.h"

namespace onnx_mem {

struct JudgedPlan {
  Choice choice;
  Score score;
  std::string method;
  bool explored = false;  // its neighbours were looked at
};

class Front {
 public:
  Front(Accountant& accountant, const Profile& profile) : accountant_(accountant), profile_(profile) {}

  // Enacts `choice` unless that was done before, and puts it where it belongs. True if it is on the front now.
  absl::StatusOr<bool> Try(const Choice& choice, std::string_view method);
  bool Tried(const Choice& choice) const { return tried_.contains(choice); }

  // By rising recomputation, that is by falling peak.
  std::vector<JudgedPlan>& plans() { return plans_; }
  const std::vector<JudgedPlan>& plans() const { return plans_; }

  // How far below the front a plan with this score lies: bytes less than the front has for no more recomputation;
  // negative when the front is better.
  int64_t GainOf(const Score& score) const;

 private:
  Accountant& accountant_;
  const Profile& profile_;
  std::vector<JudgedPlan> plans_;
  std::set<Choice> tried_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MODEL_FRONT_H_
