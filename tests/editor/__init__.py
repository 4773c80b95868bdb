"""The extension for VS Code in a real editor: code-server in a browser. `make test-vscode` runs it."""
