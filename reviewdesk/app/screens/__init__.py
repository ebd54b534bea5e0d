"""The screens of the app and their dialogs."""
