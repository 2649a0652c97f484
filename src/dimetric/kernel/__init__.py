"""Maps through a kernel: linear learners in the kernel's feature space."""
