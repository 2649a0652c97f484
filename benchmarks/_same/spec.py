"""Description of an estimator, solver or kernel that does not depend on its signature.

A case contains a spec such as ``Spec("NCA", solver=Spec("SGD", batch_size=64))``, and an adapter
(:mod:`_same.api`) builds the estimator. The name of a recorded entry contains the text of the spec,
so that versions of the library with different signatures record the same entries.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False, init=False)
class Spec:
    """Name of a class and its keyword parameters. Values may be specs."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)

    def __init__(self, name: str, /, **params: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "params", params)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={_short(value)}" for name, value in self.params.items())
        return f"{self.name}({arguments})"

    def with_params(self, **params: Any) -> "Spec":
        """Return a copy with the given parameters changed."""
        return Spec(self.name, **(self.params | params))


def _short(value: Any) -> str:
    return f"array{value.shape}" if hasattr(value, "shape") else repr(value)
