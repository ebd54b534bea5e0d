"""The use cases of the program, which combine domain, reports and store.

The command line and the app both call a ``Desk`` and hold no state of the desk themselves.
"""
