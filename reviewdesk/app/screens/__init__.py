"""The main screen and its dialogs."""
