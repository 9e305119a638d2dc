"""The HTTP side of ARPM. Only this package and `app.py` know Flask."""
