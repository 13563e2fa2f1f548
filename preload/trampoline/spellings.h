// How an entry of Fortran's bindings is called: apply(spelling, lower) for each. Preprocessor alone: stubs.*.S read it.
//
//   #define ECO_STUB(name, lower) eco_stub name;
//   ECO_FORTRAN_SPELLINGS(ECO_STUB, bcast, BCAST)
//
// As compilers spell it in mpif.h and `use mpi`; as gfortran does below mpi_f08 where no buffer needs a descriptor; and
// the function of libmpi_mpifh that Open MPI's mpi_f08 calls.
#pragma once

#define ECO_FORTRAN_SPELLINGS(apply, lower, upper)                                     \
  apply(mpi_##lower, lower) apply(mpi_##lower##_, lower) apply(mpi_##lower##__, lower) \
      apply(MPI_##upper, lower) apply(mpi_##lower##_f08_, lower) apply(ompi_##lower##_f, lower)
