"""The use cases of the program, which combine domain, reports and store.

The command line and the app both call a ``Desk`` and hold no state of the desk themselves.
"""

TYPE_CHECKING = False  # ``typing`` itself takes a tenth of the time to the first page
if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.loading import LoadOptions

__all__ = ["Desk", "LoadOptions"]


_MODULES = {"Desk": "core", "LoadOptions": "loading"}

if not TYPE_CHECKING:  # so that a type checker still finds misspelt names

    def __getattr__(name: str) -> object:
        """Import the desk on first use, because a ``Panel`` of the library needs no SQLite."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
