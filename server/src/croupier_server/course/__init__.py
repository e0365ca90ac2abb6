"""The course's five test programs: one JSON value in, one JSON value out.

``codec`` reads and writes the course's JSON, ``harnesses`` are the programs as functions, ``cli``
the commands. Nothing is imported here, so that the commands start quickly.
"""
