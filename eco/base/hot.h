// What every call of a program goes through lies side by side in the library.
//
//   ECO_ON_EVERY_CALL Found group(MPI_Comm comm);
//
// A program calls after work of its own, when caches and page tables have forgotten ECO: what such a call costs is the number of
// lines and pages that it touches. Put where the linker leaves them, these functions were on some thirty pages, and a call that
// is the library's took 24 us longer (docs/adr/0037).
#pragma once

#define ECO_ON_EVERY_CALL [[gnu::hot]]
