# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# The recipe for Spack 0.21.3, 0.22.2 and later. It belongs in packages/ucxri/package.py of a
# repository of your own (spack repo create, spack repo add). The archive that "make dist" makes has
# to lie in the current folder or in a mirror; it has no checksum yet: spack install --no-checksum ucxri
import os

from spack.package import *

try:  # Spack 1.0 and later have it there
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


class Ucxri(AutotoolsPackage):
    """Receiver-initiated rendezvous for MPI on UCX, by a library that is preloaded into unmodified
    programs."""

    # The project has no page of its own: this is that of what it extends
    homepage = "https://openucx.org"
    url = "file://" + os.path.join(os.getcwd(), "ucxri-0.1.0.tar.gz")
    manual_download = True

    license("BSD-3-Clause")

    version("0.1.0")

    variant("verbs", default=True, description="RDMA through InfiniBand and RoCE adapters")
    variant(
        "windows",
        default="none",
        values=("none", "mpich", "openmpi"),
        multi=False,
        description="The MPI for whose windows there is to be a library",
    )

    # The tests have C++
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("ucx@1.13:")
    depends_on("rdma-core", when="+verbs")
    # Its header only: the library is not linked with it
    depends_on("mpich", type="build", when="windows=mpich")
    depends_on("openmpi", type="build", when="windows=openmpi")

    conflicts("platform=darwin", msg="ucxri runs on Linux only")

    def configure_args(self):
        args = ["--with-ucx=" + self.spec["ucx"].prefix, *self.with_or_without("verbs")]
        for mpi in ("mpich", "openmpi"):
            if self.spec.satisfies("windows=" + mpi):
                args.append("--with-" + mpi + "=" + self.spec[mpi].prefix)
            else:
                args.append("--without-" + mpi)
        return args

    # "make check" takes an hour
    def check(self):
        with working_dir(os.path.join(self.stage.source_path, "test")):
            make("check-build-scripts")
            for test in ("symbols", "inert", "switch"):
                which("bash")(os.path.join("check", test + ".test"))
