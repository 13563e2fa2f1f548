/* Hazard 1: one rank has ints, one a struct, one a vector, one bytes of its own packing; same signature, same call. */
#include "check.h"

struct Mixed {
  int a;
  char gap[4];
  int b;
};

int main(int argc, char** argv) {
  enum { kPairs = 3000 };
  static struct Mixed mixed[kPairs];
  static int flat[2 * kPairs], spread[4 * kPairs];
  MPI_Datatype raw, structure, vector;
  int one[2] = {1, 1};
  MPI_Aint where[2] = {0, 8};
  MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
  begin(&argc, &argv);
  MPI_Type_create_struct(2, one, where, ints, &raw);
  MPI_Type_create_resized(raw, 0, sizeof(struct Mixed), &structure);
  MPI_Type_vector(2 * kPairs, 1, 2, MPI_INT, &vector);
  MPI_Type_commit(&structure);
  MPI_Type_commit(&vector);
  for (int root = 0; root < n_ranks; ++root) {
    const int mine = rank == root;
    for (int i = 0; i < kPairs; ++i) {
      mixed[i].a = mine ? 2 * i : -1, mixed[i].b = mine ? 2 * i + 1 : -1;
      memset(mixed[i].gap, 'g', 4);
      for (int j = 0; j < 2; ++j) {
        flat[2 * i + j] = mine ? 2 * i + j : -1;
        spread[4 * i + 2 * j] = mine ? 2 * i + j : -1, spread[4 * i + 2 * j + 1] = -7;
      }
    }
    switch (rank % 3) {
      case 0:
        MPI_Bcast(flat, 2 * kPairs, MPI_INT, root, MPI_COMM_WORLD);
        break;
      case 1:
        MPI_Bcast(mixed, kPairs, structure, root, MPI_COMM_WORLD);
        break;
      case 2:
        MPI_Bcast(spread, 1, vector, root, MPI_COMM_WORLD);
        break;
    }
    for (int i = 0; i < kPairs; ++i) {
      if (rank % 3 == 1)
        CHECK(mixed[i].a == 2 * i && mixed[i].b == 2 * i + 1 && !memcmp(mixed[i].gap, "gggg", 4));
      for (int j = 0; j < 2; ++j) {
        if (rank % 3 == 0) CHECK(flat[2 * i + j] == 2 * i + j);
        if (rank % 3 == 2) CHECK(spread[4 * i + 2 * j] == 2 * i + j && spread[4 * i + 2 * j + 1] == -7);
      }
    }
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    /* One rank's binding takes large counts, the others' do not. */
    memset(flat, 0, sizeof flat);
    if (mine)
      for (int i = 0; i < 2 * kPairs; ++i) flat[i] = i;
    if (rank % 2)
      MPI_Bcast_c(flat, 2 * kPairs, MPI_INT, root, MPI_COMM_WORLD);
    else
      MPI_Bcast(flat, 2 * kPairs, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * kPairs; ++i) CHECK(flat[i] == i);
#endif
  }
  MPI_Type_free(&raw);
  MPI_Type_free(&structure);
  MPI_Type_free(&vector);
  return end();
}
