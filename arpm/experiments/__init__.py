"""The papers' experiments, runnable: `arpm experiment NAME`.

Each is a module with a function `run(run: Run) -> Result` and is listed in `catalogue.py`. Numbers come from the same
code that answers a person; nothing here changes how a turn works.
"""
