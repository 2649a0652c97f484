"""Fused Triton kernels of the pairwise objectives, for CUDA tensors of torch.

A kernel computes a tile of squared distances, the weights of its pairs and their product with a
matrix, without storing any of them. All kernels give the same results as the engine
(:mod:`dimetric.objectives.engine`) up to rounding in single precision, which tests check with
Triton's interpreter.

Read the files in this order:

- ``support``: decides whether the kernels can be used for an array.
- ``operands``: the operands of the kernels, and how the work is divided among programs.
- ``tiles``: functions that all kernels use.
- ``softmax``: NCA and MCML.
- ``costs``: NCA with costs, and MLKR.
- ``symmetric``: LDML and LSI, whose weights depend on one pair only.
- ``softmin``: the smooth minimum of DML-eig.
- ``margins``: LMNN.
- ``centroids``: NCMML and NCMC.

Only ``support`` can be imported without torch and Triton.
"""
