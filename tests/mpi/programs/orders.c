/* Many communicators of the same ranks, each in another order, with one call each. */
#include "check.h"

enum { ORDERS = 2200 };

/* Where a rank stands in the order of this number: of those that are left, the one that its digit says comes next. */
static int place_of(int order, int of_rank) {
  int left[16];
  for (int i = 0; i < n_ranks; ++i) left[i] = i;
  for (int place = 0, n_left = n_ranks; n_left > 0; ++place, --n_left) {
    const int next = order % n_left;
    order /= n_left;
    if (left[next] == of_rank) return place;
    memmove(left + next, left + next + 1, sizeof left[0] * (size_t)(n_left - next - 1));
  }
  return -1;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int order = 0; order < ORDERS; ++order) {
    MPI_Comm ordered;
    MPI_Comm_split(MPI_COMM_WORLD, 0, place_of(order, rank), &ordered);
    MPI_Barrier(ordered);
    MPI_Comm_free(&ordered);
  }
  return end();
}
