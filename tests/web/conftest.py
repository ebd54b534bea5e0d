from importlib.util import find_spec

NEEDED = {"test_server.py": "textual_serve", "test_browser.py": "selenium"}
"""What a file of tests needs, which .ci/run installs and the README's command does not."""

collect_ignore = [name for name, module in NEEDED.items() if find_spec(module) is None]
