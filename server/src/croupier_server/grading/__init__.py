"""The referee of submissions: programs of students are built, checked, played and graded.

Data flows one way. A :mod:`~croupier_server.grading.submission` is found and unpacked; stages build
it, check it and play it, all inside an :mod:`~croupier_server.grading.isolation`, and leave
:mod:`~croupier_server.grading.evidence`; :mod:`~croupier_server.grading.scoring`, which is pure,
makes a grade of that by the :mod:`~croupier_server.grading.rubric`; what is in
:mod:`~croupier_server.grading.results` writes it down for a student, an instructor or a system.
"""
