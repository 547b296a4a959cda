"""What left before about the persons whose rows are to be summed: budgets and limits go by them, not by names."""

from __future__ import annotations

from typing import NamedTuple

from fedrcd.federation.site.editions.choosing import EditionChoice


class Exposure(NamedTuple):
    """Editions that persons of a block were in: all of them by number and label, and each combination that occurs."""

    editions: frozenset[int]
    labels: frozenset[str]
    vectors: tuple[frozenset[str], ...]


def exposures(choice: EditionChoice) -> list[Exposure]:
    """The exposure of every block of a choice."""
    persons = _sets_of_persons(choice)
    return [_exposure(choice, numbers[0], persons) for numbers in choice.numbers]


def _exposure(choice: EditionChoice, whole: int, persons: list[frozenset[int]]) -> Exposure:
    """The exposure of the rows of one set."""
    comparison = choice.comparison
    sets = {number: comparison.editions[edition] for number, edition, *_ in comparison.tables.sets()}
    vectors = {frozenset(vector) for vector in comparison.atoms if whole in vector}
    vectors |= {vector for vector in persons if whole in vector}
    by_edition = [frozenset(sets[number].number for number in vector if number in sets) for vector in vectors]
    labels = {edition.number: {edition.label} for edition in sets.values()}
    for alias, number in comparison.tables.aliases().items():
        labels[number].add(alias)
    editions = frozenset[int]().union(*by_edition)
    vectors_of_labels = [frozenset[str]().union(*(labels[number] for number in vector)) for vector in set(by_edition)]
    return Exposure(editions, frozenset[str]().union(*vectors_of_labels), tuple(vectors_of_labels))


def _sets_of_persons(choice: EditionChoice) -> list[frozenset[int]]:
    """The sets that persons with several rows over time were in with any of them."""
    return [frozenset(vector) for vector in choice.comparison.vectors_of_persons()]
