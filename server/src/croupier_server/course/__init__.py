"""The course's own programs and its remote protocol.

Five programs read one JSON value and write one: ``codec`` reads and writes the course's JSON,
``harnesses`` are the programs as functions, ``match`` the game of one of them. The protocol is in
``framing`` (values cut out of a stream) and ``protocol`` (its words); ``server`` and ``players``
are its two ends as programs, while :mod:`croupier_server.gateway.course_tcp` brings such players
into any tournament. ``cli`` has the commands. Nothing is imported here, so that they start quickly.
"""
