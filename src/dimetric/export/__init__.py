"""Save models to files, and export them to NumPy, ONNX, SQL and vector indexes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
