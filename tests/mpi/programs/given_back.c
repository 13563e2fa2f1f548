/* Uses much of what ECO takes of the library, and ends MPI_COMM_WORLD:
 *
 *   given_back finalize | past_eco [session]
 *
 * past_eco: by PMPI_Finalize, as a binding may that ECO does not see. session: and goes on with a communicator of a session,
 * which is freed after that. The program's own callback on MPI_COMM_SELF runs with MPI still whole; MPICH 5 has it wait for the
 * session. */
#include "check.h"

static MPI_Comm left;
static int n_deletes;

static void use(MPI_Comm comm) {
  int me, n, sum = 0, data[4];
  MPI_Datatype type;
  MPI_Request request;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 4; ++i) data[i] = me;
    MPI_Bcast(data, 1, type, n - 1, comm);
    CHECK(data[0] == n - 1 && data[1] == me && data[2] == n - 1 && data[3] == me);
    data[0] = data[2] = me;
    MPI_Ibcast(data, 1, type, 0, comm, &request);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data[0] == 0 && data[1] == me && data[2] == 0 && data[3] == me);
    MPI_Barrier(comm);
  }
}

static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  int finalized = 1, sum = 0;
  (void)comm, (void)keyval, (void)value, (void)extra;
  MPI_Finalized(&finalized);
  if (!finalized) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, left);
    CHECK(sum == n_ranks * (n_ranks - 1) / 2);
  }
  ++n_deletes;
  return MPI_SUCCESS;
}

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
static MPI_Session session;

static MPI_Comm in_session(void) {
  MPI_Group group;
  MPI_Comm comm;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "eco-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}
static void end_session(void) { MPI_Session_finalize(&session); }
#else
static MPI_Comm in_session(void) { exit(77); }
static void end_session(void) {}
#endif

int main(int argc, char** argv) {
  int keyval, grid_size[1] = {0}, periodic[1] = {1};
  MPI_Comm used, grid, of_session = MPI_COMM_NULL;
  begin(&argc, &argv);
  CHECK(argc >= 2);
  const int is_past_eco = !strcmp(argv[1], "past_eco"), has_session = argc > 2 && !strcmp(argv[2], "session");
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  MPI_Comm_free_keyval(&keyval);

  use(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &used);
  use(used);
  MPI_Comm_free(&used);
  MPI_Dims_create(n_ranks, 1, grid_size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, grid_size, periodic, 1, &grid);
  use(grid);
  MPI_Comm_free(&grid);
  MPI_Comm_dup(MPI_COMM_WORLD, &left); /* and never freed */
  use(left);
  if (has_session) use(of_session = in_session());

  const int code = is_past_eco ? PMPI_Finalize() : MPI_Finalize(), n_in_finalize = n_deletes;
  if (has_session) {
    use(of_session);
    MPI_Comm_free(&of_session);
    end_session();
  }
  if (rank == 0) printf("%d and %d callbacks\n", n_in_finalize, n_deletes - n_in_finalize);
  return code != MPI_SUCCESS;
}
