#include "preload/trampoline/kept_numbers.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload/trampoline/resolve.h"

namespace eco::trampoline {
namespace {

struct Row {
  uint64_t request;
  void* memory;  // null: nothing is here
};

// Open addressing; rows are replaced, never taken out.
struct Table {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Row* rows = nullptr;
  size_t n_rows = 0;  // a power of two
  size_t n_used = 0;
};
Table table;
constexpr size_t kFewestRows = 64;

// Where it is, or would be. There is always a free row.
Row* find(Row* rows, size_t n_rows, uint64_t request) {
  // Handles are addresses or count up: the product's upper half mixes both.
  size_t at = static_cast<size_t>((request * 0x9E3779B97F4A7C15u) >> 32) & (n_rows - 1);
  while (rows[at].memory != nullptr && rows[at].request != request) at = (at + 1) & (n_rows - 1);
  return &rows[at];
}

// At most half of the rows are used. False without memory.
bool make_room() {
  if (2 * (table.n_used + 1) <= table.n_rows) return true;
  const size_t n_rows = table.n_rows == 0 ? kFewestRows : 2 * table.n_rows;
  Row* const rows = static_cast<Row*>(calloc(n_rows, sizeof(Row)));
  if (rows == nullptr) return false;
  for (size_t i = 0; i < table.n_rows; ++i) {
    if (table.rows[i].memory != nullptr) *find(rows, n_rows, table.rows[i].request) = table.rows[i];
  }
  free(table.rows);
  table.rows = rows;
  table.n_rows = n_rows;
  return true;
}

// Of a handle of the loaded library; 0: nobody knows.
size_t handle_bytes() {
  using Function = size_t (*)();
  const auto function = reinterpret_cast<Function>(find_in_backend("eco_backend_request_bytes"));
  return function != nullptr ? function() : 0;
}

}  // namespace

void keep_until_reused(const void* request, void* memory) {
  const size_t bytes = handle_bytes();
  uint64_t handle = 0;
  if (bytes == 0 || bytes > sizeof handle) return;
  memcpy(&handle, request, bytes);
  void* ended = nullptr;
  pthread_mutex_lock(&table.mutex);
  if (make_room()) {
    Row* const row = find(table.rows, table.n_rows, handle);
    ended = row->memory;
    if (ended == nullptr) ++table.n_used;
    *row = {handle, memory};
  }
  pthread_mutex_unlock(&table.mutex);
  free(ended);
}

}  // namespace eco::trampoline
