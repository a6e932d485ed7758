"""Packages that can be called: ``ldpopt.audit(…)`` is a function, ``ldpopt.audit.auditing`` a module."""

from __future__ import annotations

import sys
from inspect import Signature, signature
from pkgutil import resolve_name
from types import ModuleType
from typing import Any


class Verb(ModuleType):
    """A package whose name is also that of a function in it.

    Importing a submodule sets the package as an attribute of ``ldpopt``, whatever stood there before;
    so the package itself takes the call, and imports the function when it is called first.
    """

    verb: str

    @property
    def __signature__(self) -> Signature:
        """The parameters of the function, as editors and notebooks show them."""
        return signature(resolve_name(self.verb))

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function."""
        return resolve_name(self.verb)(*given, **named)


def make_callable(package: str, function: str) -> None:
    """Let a package be called as a function of it, named as "module:function"."""
    module = sys.modules[package]
    module.__class__ = Verb
    module.__dict__["verb"] = function
