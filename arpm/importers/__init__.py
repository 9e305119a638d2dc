"""Taking over conversations that happened elsewhere: one module for each format, and one that writes atoms."""
