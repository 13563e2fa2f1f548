! Topologies that the library may reorder, from Fortran: compiled with -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. What the new
! communicators say of themselves is what they were made with.

program topologies
#include "binding.inc"
  integer :: rank, n, at, error, i, kind, n_in, n_out
  integer :: dims(2), coordinates(2), kept(2), sources(2), targets(2), weights(2), in(2), out(2), in_weights(2), out_weights(2)
  integer, allocatable :: index(:), edges(:)
  logical :: closed(2), kept_closed(2), weighted
  HANDLE(MPI_Comm) :: made

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n, error)

  dims = [n/2, 2]
  closed = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, closed, .true., made, error)
  call check(error == MPI_SUCCESS, 'cart')
  call MPI_Cart_get(made, 2, kept, kept_closed, coordinates, error)
  call check(all(kept == dims) .and. all(kept_closed .eqv. closed), 'cart as it was made')
  call MPI_Comm_rank(made, at, error)
  call check(coordinates(1)*dims(2) + coordinates(2) == at, 'coordinates')
  call MPI_Comm_free(made, error)

  ! A ring, each of which names both neighbours.
  allocate (index(n), edges(2*n))
  do i = 0, n - 1
    index(i + 1) = 2*(i + 1)
    edges(2*i + 1:2*i + 2) = [modulo(i - 1, n), modulo(i + 1, n)]
  end do
  call MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, .true., made, error)
  call MPI_Comm_rank(made, at, error)
  call MPI_Graph_neighbors(made, at, 2, in, error)
  call check(all(in == edges(2*at + 1:2*at + 2)), 'neighbours in a graph')
  call MPI_Comm_free(made, error)

  sources = [modulo(rank - 1, n), modulo(rank + 1, n)]
  targets = sources([2, 1])
  weights = [1 + rank, 100]
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .true., made, error)
  call look(.false.)
  call check(all(in == [modulo(at - 1, n), modulo(at + 1, n)]) .and. all(out == in([2, 1])), 'adjacent')
  call MPI_Comm_free(made, error)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weights, 2, targets, weights, MPI_INFO_NULL, .true., &
                                      made, error)
  call look(.true.)
  call check(in_weights(1) == 1 + at .and. out_weights(2) == 100, 'weights')
  call MPI_Comm_free(made, error)

  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [2], targets, MPI_UNWEIGHTED, MPI_INFO_NULL, .true., made, error)
  call look(.false.)
  call check(all(out == [modulo(at + 1, n), modulo(at - 1, n)]), 'distributed')
  call MPI_Comm_free(made, error)

  if (rank == 0) print '(a)', 'right'
  call MPI_Finalize(error)

contains

  subroutine look(is_weighted)
    logical, intent(in) :: is_weighted
    call MPI_Comm_rank(made, at, error)
    call MPI_Topo_test(made, kind, error)
    call check(kind == MPI_DIST_GRAPH, 'kind of topology')
    call MPI_Dist_graph_neighbors_count(made, n_in, n_out, weighted, error)
    call check(n_in == 2 .and. n_out == 2 .and. (weighted .eqv. is_weighted), 'counts')
    call MPI_Dist_graph_neighbors(made, 2, in, in_weights, 2, out, out_weights, error)
  end subroutine

#include "check.inc"
end program
