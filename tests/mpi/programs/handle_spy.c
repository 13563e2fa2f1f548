/* What ECO takes of the library, and whether all of it is given back: LD_PRELOAD.
 *
 *   mpicc -shared -fPIC handle_spy.c -o handle_spy.so
 *
 * ECO's calls of PMPI_ functions come here first; the program must make none of these. At its end every process appends a
 * line for each kind to SPY_OUT: "4711 communicators 3 3" where three were made and three freed. Of attributes it is how many
 * were set, and how many of their delete callbacks ran. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { communicators, types, groups, error_handlers, keyvals, attributes, kKinds, kMostKeyvals = 16 };
static const char* const names[kKinds] = {"communicators",  "types",   "groups",
                                          "error_handlers", "keyvals", "attributes"};
static long made[kKinds], given_back[kKinds];

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

#define SPY(counted, function, parameters, arguments) \
  int function parameters {                           \
    const int code = REAL(function) arguments;        \
    if (code == MPI_SUCCESS) ++counted;               \
    return code;                                      \
  }

SPY(made[communicators], PMPI_Comm_dup, (MPI_Comm comm, MPI_Comm* copy), (comm, copy))
SPY(given_back[communicators], PMPI_Comm_free, (MPI_Comm * comm), (comm))
SPY(made[types], PMPI_Type_contiguous, (int count, MPI_Datatype of, MPI_Datatype* type), (count, of, type))
SPY(made[types], PMPI_Type_create_hindexed,
    (int count, const int lengths[], const MPI_Aint places[], MPI_Datatype of, MPI_Datatype* type),
    (count, lengths, places, of, type))
SPY(given_back[types], PMPI_Type_free, (MPI_Datatype * type), (type))
SPY(made[groups], PMPI_Comm_group, (MPI_Comm comm, MPI_Group* group), (comm, group))
SPY(given_back[groups], PMPI_Group_free, (MPI_Group * group), (group))
SPY(made[error_handlers], PMPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* handler), (comm, handler))
SPY(given_back[error_handlers], PMPI_Errhandler_free, (MPI_Errhandler * handler), (handler))
SPY(given_back[keyvals], PMPI_Comm_free_keyval, (int* keyval), (keyval))
SPY(made[attributes], PMPI_Comm_set_attr, (MPI_Comm comm, int keyval, void* value), (comm, keyval, value))

/* Each derived type among them is a handle of its own. */
int PMPI_Type_get_contents(MPI_Datatype type, int n_integers, int n_addresses, int n_types, int integers[],
                           MPI_Aint addresses[], MPI_Datatype of[]) {
  const int code =
      REAL(PMPI_Type_get_contents)(type, n_integers, n_addresses, n_types, integers, addresses, of);
  for (int i = 0; code == MPI_SUCCESS && i < n_types; ++i) {
    int n[3], combiner;
    PMPI_Type_get_envelope(of[i], &n[0], &n[1], &n[2], &combiner);
    if (combiner != MPI_COMBINER_NAMED) ++made[types];
  }
  return code;
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  const int code = REAL(PMPI_Comm_split)(comm, color, key, part);
  if (code == MPI_SUCCESS && *part != MPI_COMM_NULL) ++made[communicators];
  return code;
}

/* Of each keyval what ECO wanted called; its copy callback does nothing and needs nothing. */
static struct Callback {
  MPI_Comm_delete_attr_function* function;
  void* extra;
} callbacks[kMostKeyvals];

static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  const struct Callback* real = extra;
  ++given_back[attributes];
  return real->function(comm, keyval, value, real->extra);
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copies, MPI_Comm_delete_attr_function* deletes,
                            int* keyval, void* extra) {
  if (made[keyvals] == kMostKeyvals) abort();
  struct Callback* real = &callbacks[made[keyvals]];
  *real = (struct Callback){deletes, extra};
  const int code = REAL(PMPI_Comm_create_keyval)(copies, on_delete, keyval, real);
  if (code == MPI_SUCCESS) ++made[keyvals];
  return code;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("SPY_OUT");
  FILE* out = path ? fopen(path, "a") : NULL;
  if (!out) return;
  for (int i = 0; i < kKinds; ++i)
    fprintf(out, "%d %s %ld %ld\n", (int)getpid(), names[i], made[i], given_back[i]);
  fclose(out);
}
