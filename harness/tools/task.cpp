// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/task.hpp"

#include <algorithm>
#include <set>

namespace rnic::tools {

Scheduler::Handle Scheduler::spawn(Task<void> task) {
  Handle h;
  h.task_ = std::make_shared<Task<void>>(std::move(task));
  tasks_.push_back(h.task_);
  h.task_->start();
  return h;
}

bool Scheduler::run_ready() {
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (!(*waiting_[i].ready)()) continue;
      const std::coroutine_handle<> h = waiting_[i].handle;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      any = again = true;
      h.resume();  // may wait for something else
      break;
    }
  }
  tasks_.remove_if([](const std::shared_ptr<Task<void>>& t) { return t->done(); });
  return any;
}

std::string Scheduler::waiting_for() const {
  std::set<std::string> names;
  for (const Waiter& w : waiting_) names.insert(*w.what);
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

void Scheduler::cancel() {
  waiting_.clear();
  // A handle may keep a task; its coroutine must not outlive this.
  for (const auto& t : tasks_) *t = Task<void>(std::coroutine_handle<detail::Promise<void>>{});
  tasks_.clear();
}

}  // namespace rnic::tools
