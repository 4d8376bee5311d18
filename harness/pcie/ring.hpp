// SPDX-License-Identifier: Apache-2.0
// A queue in one block of memory that doubles when full: no allocation once it has its working
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rnic::pcie {

template <typename T>
class Ring {
 public:
  explicit Ring(size_t capacity = 16) : slots_(capacity) {}  // power of two
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  T& front() { return slots_[head_ & mask()]; }
  const T& front() const { return slots_[head_ & mask()]; }
  T& back() { return slots_[(tail_ - 1) & mask()]; }
  T& operator[](size_t i) { return slots_[(head_ + i) & mask()]; }
  const T& operator[](size_t i) const { return slots_[(head_ + i) & mask()]; }
  void push(T v) {
    if (size() == slots_.size()) grow();
    slots_[tail_++ & mask()] = std::move(v);
  }
  T pop() { return std::move(slots_[head_++ & mask()]); }
  // Takes out element i, keeping the order of the rest.
  T take(size_t i) {
    T v = std::move((*this)[i]);
    for (; i > 0; --i) (*this)[i] = std::move((*this)[i - 1]);
    ++head_;
    return v;
  }
  void clear() { head_ = tail_ = 0; }

 private:
  size_t mask() const { return slots_.size() - 1; }
  void grow() {
    std::vector<T> bigger(slots_.size() * 2);
    const size_t n = size();
    for (size_t i = 0; i < n; ++i) bigger[i] = std::move((*this)[i]);
    slots_ = std::move(bigger);
    head_ = 0;
    tail_ = n;
  }
  std::vector<T> slots_;
  size_t head_ = 0, tail_ = 0;
};

}  // namespace rnic::pcie
