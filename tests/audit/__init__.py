"""Tests of the offline audit, one module for each module of arpm/audit."""
