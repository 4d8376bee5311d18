// SPDX-License-Identifier: Apache-2.0
// Programs as coroutines: they wait for conditions, and somebody who lets time pass asks which of
// them hold.
//
//   Task<int> twice(Scheduler& s, Port& p) {
//     co_await s.until([&p] { return p.ready(); }, "the port");
//     co_return 2 * p.value();
//   }
//   s.spawn(work(s));   while (!s.idle()) { let_time_pass(); s.run_ready(); }
//
// A task starts when it is awaited or spawned. An exception goes to who awaits it; that of a
// spawned one is kept for its Handle. The scheduler outlives its tasks' objects.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rnic::tools {

template <typename T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation;
  std::exception_ptr error;

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      const std::coroutine_handle<> next = h.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  explicit Task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().continuation = caller;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

  // For the scheduler.
  void start() { handle_.resume(); }
  bool done() const { return !handle_ || handle_.done(); }
  std::exception_ptr error() const { return handle_ ? handle_.promise().error : nullptr; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace detail

class Scheduler {
 public:
  // What became of a spawned task. Lives as long as the scheduler keeps it.
  class Handle {
   public:
    bool done() const { return task_ != nullptr && task_->done(); }
    // The exception it ended with, rethrown.
    void check() const {
      if (task_ != nullptr && task_->done() && task_->error())
        std::rethrow_exception(task_->error());
    }

   private:
    friend class Scheduler;
    std::shared_ptr<Task<void>> task_;
  };

  class Until {
   public:
    Until(Scheduler& s, std::function<bool()> ready, std::string what)
        : scheduler_(s), ready_(std::move(ready)), what_(std::move(what)) {}
    bool await_ready() const { return ready_(); }
    void await_suspend(std::coroutine_handle<> h) {
      scheduler_.waiting_.push_back({h, &ready_, &what_});
    }
    void await_resume() const {}

   private:
    Scheduler& scheduler_;
    std::function<bool()> ready_;
    std::string what_;
  };

  Scheduler() = default;
  ~Scheduler() { cancel(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Handle spawn(Task<void> task);
  // Suspends until `ready` holds. `what` stands in messages about who waits for what.
  Until until(std::function<bool()> ready, std::string what) {
    return Until(*this, std::move(ready), std::move(what));
  }
  // Goes on with everybody whose condition holds, until none does. Returns whether anybody went on.
  bool run_ready();
  bool idle() const { return waiting_.empty(); }
  // What is waited for, each once.
  std::string waiting_for() const;
  // Ends all tasks where they are.
  void cancel();

 private:
  friend class Until;
  struct Waiter {
    std::coroutine_handle<> handle;
    std::function<bool()>* ready;
    std::string* what;
  };
  std::list<std::shared_ptr<Task<void>>> tasks_;
  std::vector<Waiter> waiting_;
};

}  // namespace rnic::tools
