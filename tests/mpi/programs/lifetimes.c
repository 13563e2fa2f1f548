/* Hazard 7: handles freed as early as is legal; the program's attribute callbacks hear nothing of ECO's communicators. */
#include "check.h"

static int copies, deletes;

static int on_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++copies;
  return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int keyval, out;
  begin(&argc, &argv);
  MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &keyval);
  for (int turn = 0; turn < 10; ++turn) {
    MPI_Comm comm;
    MPI_Datatype type;
    int data[4] = {rank, -1, rank, -1};
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    MPI_Comm_set_attr(comm, keyval, &keyval);
    for (int i = 0; i < 5; ++i) MPI_Allreduce(&rank, &out, 1, MPI_INT, MPI_SUM, comm);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(data, 1, type, n_ranks - 1, comm);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm); /* local work may still be under way at other ranks */
    CHECK(data[0] == n_ranks - 1 && data[2] == n_ranks - 1 && data[1] == -1);
    CHECK(deletes == turn + 1);
  }
  CHECK(copies == 0);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  /* One armed communicator is left for MPI_Finalize. */
  MPI_Comm left;
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(&rank, &out, 1, MPI_INT, MPI_SUM, left);
  return end();
}
