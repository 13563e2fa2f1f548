// Dome's load balancing: work moves between neighbours in a ring until all ranks take as long.
//
//   struct Rows rows = {.n = atoms, .first = ..., .count = ..., .length = ..., .partner = ...};
//   balance(ring, &rows, pairs_per_second, messages);      // collective over a periodic Cartesian communicator
//
// Work is rows of pairs: an atom with its partners, whose coordinates every rank has. The ranks' rows follow one
// another around the ring, so only their ends move.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <string.h>

// A run of rows: row k is atom (first + k) % n with its partners, which follow one another.
struct Rows {
  int n;  // atoms; length and partner have room for all rows
  int first, count, n_pairs;
  int *length, *partner;
};

// Integers of a message with every row and every pair; balance() needs room for two.
static size_t longest_message(int n) { return 1 + (size_t)n + (size_t)n * (size_t)(n / 2); }

// The pairs that the first of two neighbours hands to the second: a third of what would make both take as long, because
// each evens out with two. Below nothing: the second to the first.
static double surplus(const double* first, const double* second) {
  return (first[1] * second[0] - second[1] * first[0]) / (first[0] + second[0]) / 3;
}

// Takes rows of at most so many pairs off one end, as a message: their number, lengths, partners.
static int take(struct Rows* rows, double most, int from_end, int* message) {
  int n = 0, pairs = 0;
  while (3 * (n + 1) < rows->count) {
    const int length = rows->length[from_end ? rows->count - 1 - n : n];
    if (pairs + length > most) break;
    pairs += length;
    ++n;
  }
  const size_t i = sizeof(int);
  message[0] = n;
  memcpy(message + 1, rows->length + (from_end ? rows->count - n : 0), (size_t)n * i);
  memcpy(message + 1 + n, rows->partner + (from_end ? rows->n_pairs - pairs : 0), (size_t)pairs * i);
  rows->count -= n;
  rows->n_pairs -= pairs;
  if (!from_end) {
    memmove(rows->length, rows->length + n, (size_t)rows->count * i);
    memmove(rows->partner, rows->partner + pairs, (size_t)rows->n_pairs * i);
    rows->first = (rows->first + n) % rows->n;
  }
  return 1 + n + pairs;
}

static void put(struct Rows* rows, int at_end, const int* message, int length) {
  const int n = message[0], pairs = length - 1 - n;
  const size_t i = sizeof(int);
  if (!at_end) {
    memmove(rows->length + n, rows->length, (size_t)rows->count * i);
    memmove(rows->partner + pairs, rows->partner, (size_t)rows->n_pairs * i);
    rows->first = (rows->first - n + rows->n) % rows->n;
  }
  memcpy(rows->length + (at_end ? rows->count : 0), message + 1, (size_t)n * i);
  memcpy(rows->partner + (at_end ? rows->n_pairs : 0), message + 1 + n, (size_t)pairs * i);
  rows->count += n;
  rows->n_pairs += pairs;
}

// Neighbours in the ring tell each other speed (pairs a second) and pairs; then rows change hands.
static void balance(MPI_Comm ring, struct Rows* rows, double speed, int* messages) {
  enum { kLeft, kRight };
  // Of all rows a third goes to either side at most.
  int* out[2] = {messages, messages + longest_message(rows->n) / 2};
  int* in = messages + longest_message(rows->n);
  const double mine[2] = {speed, rows->n_pairs};
  double of[2][2];
  int neighbour[2], length[2];
  MPI_Request sent[2];
  MPI_Cart_shift(ring, 0, 1, &neighbour[kLeft], &neighbour[kRight]);
  for (int to = kLeft; to <= kRight; ++to)
    MPI_Sendrecv(mine, 2, MPI_DOUBLE, neighbour[to], to, of[!to], 2, MPI_DOUBLE, neighbour[!to], to, ring,
                 MPI_STATUS_IGNORE);
  // Both are decided by what there was before.
  const double give[2] = {-surplus(of[kLeft], mine), surplus(mine, of[kRight])};
  for (int to = kLeft; to <= kRight; ++to) {
    length[to] = take(rows, give[to], to == kRight, out[to]);
    MPI_Isend(out[to], length[to], MPI_INT, neighbour[to], 2 + to, ring, &sent[to]);
  }
  for (int from = kLeft; from <= kRight; ++from) {
    MPI_Status status;
    int n;
    MPI_Probe(neighbour[from], 2 + !from, ring, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    MPI_Recv(in, n, MPI_INT, neighbour[from], 2 + !from, ring, MPI_STATUS_IGNORE);
    put(rows, from == kRight, in, n);
  }
  MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
}
