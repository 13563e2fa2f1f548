/* Broadcast, allreduce and barrier with every root, many types, operations and sizes, on three communicators. */
#include "check.h"

static const int kCounts[] = {0, 1, 2, 3, 7, 125, 126, 1000, 1023, 1024, 1025, 4097, 65536, 100003};
enum { kCases = sizeof kCounts / sizeof kCounts[0], kMost = 100003 };

static void broadcast_ints(MPI_Comm comm, int count, int root) {
  static int data[kMost];
  int me;
  MPI_Comm_rank(comm, &me);
  for (int i = 0; i < count; ++i) data[i] = me == root ? i * 7 + root : -1;
  CHECK(MPI_Bcast(data, count, MPI_INT, root, comm) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) CHECK(data[i] == i * 7 + root);
}

/* Every second int; the gaps must stay. */
static void broadcast_vector(MPI_Comm comm, int count, int root) {
  static int data[2 * kMost];
  int me;
  MPI_Datatype type;
  MPI_Comm_rank(comm, &me);
  MPI_Type_vector(count, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 2 * count; ++i) data[i] = i % 2 ? 1000 + me : (me == root ? i : -1);
  MPI_Bcast(data, 1, type, root, comm);
  for (int i = 0; i < 2 * count; ++i) CHECK(data[i] == (i % 2 ? 1000 + me : i));
  MPI_Type_free(&type);
}

/* size equals extent, but the second element comes first: not dense. */
static void broadcast_swapped(MPI_Comm comm, int root) {
  int data[2] = {-1, -1}, me, one[2] = {1, 1}, displacements[2] = {1, 0};
  MPI_Datatype swapped;
  MPI_Comm_rank(comm, &me);
  MPI_Type_indexed(2, one, displacements, MPI_INT, &swapped);
  MPI_Type_commit(&swapped);
  if (me == root) data[0] = 10, data[1] = 20;
  if (me == root)
    MPI_Bcast(data, 2, MPI_INT, root, comm);
  else
    MPI_Bcast(data, 1, swapped, root, comm);
  CHECK(me == root ? data[0] == 10 && data[1] == 20 : data[0] == 20 && data[1] == 10);
  MPI_Type_free(&swapped);
}

/* Absolute addresses from MPI_BOTTOM. */
static void broadcast_bottom(MPI_Comm comm, int root) {
  int a = -1, b[3] = {-1, -1, -1}, me, counts[2] = {1, 3};
  MPI_Aint where[2];
  MPI_Datatype types[2] = {MPI_INT, MPI_INT}, type;
  MPI_Comm_rank(comm, &me);
  if (me == root) a = 1, b[0] = 2, b[1] = 3, b[2] = 4;
  MPI_Get_address(&a, &where[0]);
  MPI_Get_address(b, &where[1]);
  MPI_Type_create_struct(2, counts, where, types, &type);
  MPI_Type_commit(&type);
  MPI_Bcast(MPI_BOTTOM, 1, type, root, comm);
  CHECK(a == 1 && b[0] == 2 && b[1] == 3 && b[2] == 4);
  MPI_Type_free(&type);
}

#define ALLREDUCE(name, ctype, mpitype, op, per_rank, expected)                                       \
  static void name(MPI_Comm comm, int count, int in_place) {                                          \
    static ctype in[kMost], out[kMost];                                                               \
    int me, n;                                                                                        \
    MPI_Comm_rank(comm, &me);                                                                         \
    MPI_Comm_size(comm, &n);                                                                          \
    for (int i = 0; i < count; ++i) in[i] = (ctype)(per_rank), out[i] = in_place ? in[i] : (ctype)77; \
    CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, count, mpitype, op, comm) == MPI_SUCCESS); \
    for (int i = 0; i < count; ++i) CHECK(out[i] == (ctype)(expected));                               \
  }
ALLREDUCE(sum_int, int, MPI_INT, MPI_SUM, me + i, n*(n - 1) / 2 + n * i)
ALLREDUCE(sum_double, double, MPI_DOUBLE, MPI_SUM, me + i, n*(n - 1) / 2 + n * i)
ALLREDUCE(max_long, long, MPI_LONG, MPI_MAX, me * 10 + i % 3, (n - 1) * 10 + i % 3)
ALLREDUCE(min_float, float, MPI_FLOAT, MPI_MIN, me - i, -i)
ALLREDUCE(bor_byte, unsigned char, MPI_BYTE, MPI_BOR, 1 << (me % 8), n >= 8 ? 255 : (1 << n) - 1)
ALLREDUCE(land_short, short, MPI_SHORT, MPI_LAND, me + 1, 1)
ALLREDUCE(bxor_u64, unsigned long, MPI_UINT64_T, MPI_BXOR, 1ul << me, (1ul << n) - 1)

static void maxloc(MPI_Comm comm, int count) {
  struct Pair {
    int value, where;
  } in[200], out[200];
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int i = 0; i < count; ++i) in[i].value = (me + i) % n, in[i].where = me;
  MPI_Allreduce(in, out, count, MPI_2INT, MPI_MAXLOC, comm);
  for (int i = 0; i < count; ++i) CHECK(out[i].value == n - 1 && (out[i].where + i) % n == n - 1);
  struct Gapped {
    double value;
    int where;
  } gin = {me, me}, gout; /* has a gap: the library's */
  MPI_Allreduce(&gin, &gout, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  CHECK(gout.value == n - 1 && gout.where == n - 1);
}

static void take_second(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] = ((int*)in)[i] * 10 + ((int*)inout)[i];
}

/* A user's operation that does not commute keeps rank order. */
static void user_operation(MPI_Comm comm) {
  MPI_Op op;
  int me, n, out = 0, expected = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  MPI_Op_create(take_second, 0, &op);
  MPI_Allreduce(&me, &out, 1, MPI_INT, op, comm);
  MPI_Op_free(&op);
  if (n == 2) expected = 1;
  if (n == 3) expected = 12;
  if (n == 2 || n == 3) CHECK(out == expected);
}

static void all(MPI_Comm comm) {
  int n;
  MPI_Comm_size(comm, &n);
  for (int c = 0; c < kCases; ++c) {
    for (int root = 0; root < n; root += kCounts[c] < 5000 ? 1 : n) {
      broadcast_ints(comm, kCounts[c], root);
      if (kCounts[c] > 0) broadcast_vector(comm, kCounts[c], root);
    }
    for (int in_place = 0; in_place < 2; ++in_place) {
      sum_int(comm, kCounts[c], in_place);
      sum_double(comm, kCounts[c], in_place);
      max_long(comm, kCounts[c], in_place);
      min_float(comm, kCounts[c], in_place);
      bor_byte(comm, kCounts[c], in_place);
      land_short(comm, kCounts[c], in_place);
      bxor_u64(comm, kCounts[c], in_place);
    }
    MPI_Barrier(comm);
  }
  for (int root = 0; root < n; ++root) broadcast_swapped(comm, root), broadcast_bottom(comm, root);
  maxloc(comm, 200);
  user_operation(comm);
}

int main(int argc, char** argv) {
  MPI_Comm copy, part;
  begin(&argc, &argv);
  all(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
  all(copy);
  all(part);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&part);
  return end();
}
