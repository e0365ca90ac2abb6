"""The conformance check: is a player, in whatever language, ready for a tournament?

:mod:`~croupier_client.check.steps` has the steps; a :class:`~croupier_client.check.hosts.Host`
gives the players, :mod:`~croupier_client.check.runner` runs the steps with them, and
:mod:`~croupier_client.check.report` shows what was found.
"""
