from experiments.pages.headline import NOT_RUN, SHOWN, headline


def accuracy(**standardised):
    """Lines of docs/accuracy.md in which every method has 0.9 on raw data."""
    return "\n".join(
        f"| {name} | 0 | 0 | 0 | 0.9000 ± 0.01 | {standardised.get(name, '0.5000 ± 0.02')} | 1 | 2.0 | 0.1 |"
        for name in SHOWN
    )


def row_of(text, name):
    return next(line for line in text.splitlines() if line.startswith(f"| {SHOWN[name]} |"))


def test_a_figure_of_a_run_stands_as_it_is():
    text = headline(accuracy())
    assert NOT_RUN not in text
    assert row_of(text, "fedrcd-x") == f"| {SHOWN['fedrcd-x']} | 0.9000 | 0.5000 | 1 | 2.0 |"


def test_what_was_not_run_on_standardised_data_is_marked():
    name = "lingam.DirectLiNGAM"
    text = headline(accuracy(**{name: "-"}))
    assert row_of(text, name) == f"| {SHOWN[name]} | 0.9000 | (0.9000) | 1 | 2.0 |"
    assert text.endswith(f"|\n\n{NOT_RUN}\n")
