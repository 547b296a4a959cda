"""The golden runs, described in words and numbers: who holds what, what is asked, how.

`transport` says by which way; the rest is for `adapters`. `portable` runs have the same sums on any machine;
`frame` is "declared" in advance or "proposed" from rows; `quick` ones are repeated by the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.golden.adapters import ALL, ERASABLE, FEDERATED, OF_PAIRS, ONE_TABLE

Run = dict[str, Any]

EXACT = ("exact", "compact")
ARITHMETICS = ("float", *EXACT)
SMALL = {"p": 5, "n": 1200, "seed": 1}
WIDE = {"p": 8, "n": 3000, "seed": 2}
LARGE = {"p": 5, "n": 60000, "seed": 7}
GAPS = {"p": 4, "n": 900, "seed": 3, "gaps": 0.04}
THREE = {"kind": "horizontal", "sites": 3}
SEVEN = {"kind": "interleaved", "sites": 7}

KNOWLEDGE: dict[str, Any] = {
    "required": {"required": [("v0", "v1")]},
    "forbidden": {"forbidden": [("v0", "v1"), ("v2", "v3")]},
    "paths": {"required_paths": [("v3", "v0")], "forbidden_paths": [("v1", "v4")]},
    "exogenous": {"exogenous": ["v2"]},
    "sinks": {"sinks": ["v0", "v1"]},
    "tiers": {"tiers": [["v4", "v3"], ["v0", "v1", "v2"]]},
    "before": {"before": [("v1", "v0"), ("v0", "v4")]},
}
MATRIX = [[-1] * 5, [0, -1, -1, -1, -1], [-1] * 5, [-1, -1, -1, -1, 1], [-1] * 5]


def all_runs() -> list[Run]:
    """Every run with its name, each name once."""
    ways = {
        "in process": in_process,
        "reference": reference,
        "grid": grid,
        "ledger": ledger,
        "flower": flower,
    }
    runs = [completed({"transport": way, **run}) for way, described in ways.items() for run in described()]
    names = [run["name"] for run in runs]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    return runs


def completed(run: Run) -> Run:
    """With a name that starts with the transport, and whether it repeats elsewhere."""
    own = run.get("settings", {}).get("within", "none") != "none"
    sums = run.get("arithmetic", "float" if run["transport"] == "in process" else "exact")
    frame = run.get("frame", "proposed" if run["transport"] == "in process" else "declared")
    portable = sums != "float" and not own
    return run | {"name": f"{run['transport']}: {run['name']}", "portable": portable, "frame": frame}


def words(split: Run) -> str:
    return " ".join(str(part) for part in split.values())


# in one process


def in_process() -> Iterator[Run]:
    yield from methods_and_splits()
    yield from site_effects_and_gaps()
    yield from settings_and_options()
    yield from knowledge_in_process()
    yield from confidence()
    yield from large_tables()
    yield from wrong_settings()
    yield from wrong_tables()


def methods_and_splits() -> Iterator[Run]:
    for arithmetic in ARITHMETICS:
        for method in ALL:
            stacked = {"settings": {"stack": True}} if method in ONE_TABLE else {}
            yield of(method, arithmetic, SMALL, THREE) | stacked
        for method in FEDERATED:
            yield of(method, arithmetic, SMALL, SEVEN)
    for arithmetic in ("float", "exact"):
        for method in ALL:
            yield {"name": f"{method} {arithmetic} one table", "data": SMALL} | asked(method, arithmetic)
        for kind in ("vertical", "hybrid", "overlapping", "triples"):
            for method in OF_PAIRS:
                yield of(method, arithmetic, SMALL, {"kind": kind})
        for method in ("fedrcd-s", "fedrcd-t", "fedrcd-sx", "fedrcd-x", "fed-direct"):
            for kind in ("overlapping", "everything besides"):
                yield of(method, arithmetic, SMALL, {"kind": kind})
    for method in FEDERATED:
        yield of(method, "float", WIDE, {"kind": "horizontal", "sites": 5}) | {"name": f"{method} float wide"}


def of(method: str, arithmetic: str, data: Run, split: Run) -> Run:
    name = f"{method} {arithmetic} {words(split)}"
    return {"name": name, "data": data, "split": split} | asked(method, arithmetic)


def asked(method: str, arithmetic: str) -> Run:
    return {"method": method, "arithmetic": arithmetic}


def site_effects_and_gaps() -> Iterator[Run]:
    for effects in ("levels", "units"):
        for within in ("none", "centre", "standardise", "auto"):
            for method, arithmetic in (("fedrcd-s", "float"), ("fedrcd-x", "float"), ("fedrcd-ni", "exact")):
                changed = {"effects": effects, "settings": {"within": within}}
                name = f"{method} {arithmetic} sites differ in {effects}, within {within}"
                yield of(method, arithmetic, SMALL, THREE) | changed | {"name": name}
    for missing in ("complete", "expected", "available"):
        for method in ("fedrcd-s", "fedrcd-sp", "fedrcd-t", "fedrcd-x", "fedrcd-ni", "fed-direct"):
            for arithmetic in ("float", "exact"):
                changed = {"name": f"{method} {arithmetic} gaps {missing}", "settings": {"missing": missing}}
                yield of(method, arithmetic, GAPS, THREE) | changed
        vertical = {"name": f"vertical gaps {missing}", "settings": {"missing": missing}}
        yield of("fedrcd-sp", "float", GAPS, {"kind": "vertical"}) | vertical


def settings_and_options() -> Iterator[Run]:
    wrong_points, codes, named = (SMALL | {"spoil": how} for how in ("wrong points", "codes", "named"))
    for arithmetic in ("float", "exact"):
        for method in ("fedrcd-s", "fedrcd-ni", "fed-direct"):
            name = f"{method} {arithmetic} wrong points trimmed"
            yield of(method, arithmetic, wrong_points, THREE) | {"name": name, "settings": {"trim": 8.0}}
    for within in ("centre", "auto"):
        changed = {"name": f"trim within {within}", "effects": "levels", "settings": {"trim": 8.0, "within": within}}
        yield of("fedrcd-s", "float", wrong_points, THREE) | changed
    for missing in ("complete", "expected"):
        changed = {"name": f"codes {missing}", "settings": {"missing_codes": [-9.0], "missing": missing}}
        yield of("fedrcd-s", "float", codes, THREE) | changed
    yield {"name": "a column dropped", "data": named, "settings": {"drop": ["person"]}, "method": "fedrcd-s"}
    turned = {"variables": ["v4", "v2", "v0", "v1", "v3"]}
    yield of("fedrcd-s", "exact", SMALL, THREE) | {"name": "variables in another order", "settings": turned}
    yield of("fedrcd-s", "exact", SMALL, THREE) | {"name": "fedrcd-s exact scale checked", "settings": SCALE}
    yield of("fedrcd-x", "float", SMALL, THREE) | {"name": "fedrcd-x float scale checked", "settings": SCALE}
    for name, data, split in (
        ("small", SMALL, THREE),
        ("wide", WIDE, SEVEN),
        ("vertical", SMALL, {"kind": "vertical"}),
    ):
        yield {"name": f"auto {name}", "data": data, "split": split}
    for method, options in OPTIONS:
        name = f"{method} with {', '.join(f'{key}={value}' for key, value in options.items())}"
        yield of(method, "float", SMALL, THREE) | {"name": name, "options": options}


SCALE = {"check_scale": True}
OPTIONS: tuple[tuple[str, Run], ...] = (
    ("fedrcd-s", {"refine": "none"}),
    ("fedrcd-s", {"negentropy": "edgeworth"}),
    ("fedrcd-s", {"estimator": "unbiased"}),
    ("fedrcd-s", {"weights": "bic"}),
    ("fedrcd-s", {"weights": "none"}),
    ("fedrcd-s", {"penalty": 0.1}),
    ("fedrcd-s", {"weights": "bootstrap", "n_sampling": 20, "groups": 10}),
    ("fedrcd-sp", {"largest_fit": 3}),
    ("fedrcd-ni", {"estimator": "unbiased"}),
    ("fedrcd-def", {"marginals": "source-condition"}),
    ("fedishc", {"coefficient": "corrected"}),
    ("fedishc", {"update": "marginal"}),
    ("auto", {"penalty": 0.05}),
)


def knowledge_in_process() -> Iterator[Run]:
    for name, statements in KNOWLEDGE.items():
        for method in ("fedrcd-s", "fedrcd-ni"):
            yield of(method, "float", SMALL, THREE) | {"name": f"{method} knows {name}", "knowledge": statements}
    yield of("fedrcd-x", "float", SMALL, THREE) | {"name": "fedrcd-x knows a matrix", "knowledge": MATRIX}
    yield of("fed-direct", "float", SMALL, THREE) | {"name": "fed-direct knows tiers", "knowledge": KNOWLEDGE["tiers"]}


def confidence() -> Iterator[Run]:
    drawn = {"n_sampling": 20, "random_state": 5}
    for method, arithmetic, more in (
        ("fedrcd-s", "float", {"groups": 10}),
        ("fedrcd-s", "exact", {"groups": 10}),
        ("fedrcd-sp", "float", {"groups": 12}),
        ("fedrcd-ni", "compact", {"groups": 10}),
        ("fedrcd-s", "float", {"resample": "rows"}),
        ("fedrcd-x", "float", {"resample": "rows"}),
        ("fedrcd-s", "float", {"groups": 10, "knowledge": KNOWLEDGE["tiers"]}),
        ("fedrcd-x", "float", {"groups": 10}),
        ("fedrcd-s", "float", {"groups": 9}),
        ("fedrcd-s", "float", {"groups": 500}),
    ):
        knows = {"knowledge": more.pop("knowledge")} if "knowledge" in more else {}
        name = f"bootstrap {method} {arithmetic} {words(more)}{' knows' if knows else ''}"
        run = of(method, arithmetic, SMALL, THREE) | knows
        yield run | {"name": name, "do": "bootstrap", "settings": drawn | more}
    for method, arithmetic in (("fedrcd-s", "float"), ("fedrcd-s", "exact"), ("fedrcd-x", "float"), ("auto", "float")):
        yield of(method, arithmetic, SMALL, THREE) | {"name": f"check {method} {arithmetic}", "do": "check"}
    before = {"name": "check a discovery", "do": "check a discovery"}
    yield of("fedrcd-s", "float", SMALL, THREE) | before
    yield of("fedrcd-sp", "float", SMALL, {"kind": "vertical"}) | {"name": "check vertical", "do": "check"}


def large_tables() -> Iterator[Run]:
    """Tables of several pieces, and of more rows than a frame for float64 sums is proposed from."""
    spoiled = LARGE | {"spoil": "wrong points"}
    for arithmetic in ARITHMETICS:
        for method in ("fedrcd-s", "fedrcd-sp", "fedrcd-x", "fedishc"):
            yield of(method, arithmetic, LARGE, THREE) | {"name": f"{method} {arithmetic} large"}
        whole = {"name": f"fedrcd-s {arithmetic} large, one table", "data": LARGE}
        yield whole | asked("fedrcd-s", arithmetic)
    for arithmetic in ("float", "exact"):
        large = of("fedrcd-sp", arithmetic, LARGE, THREE)
        trimmed = {"data": spoiled, "settings": {"trim": 8.0}}
        yield large | {"name": f"large {arithmetic} trimmed"} | trimmed
        yield large | {"name": f"large {arithmetic} gaps", "data": LARGE | {"gaps": 0.04}}
        within = {"effects": "levels", "settings": {"within": "centre"}}
        yield large | {"name": f"large {arithmetic} within centre"} | within
        drawn = {"do": "bootstrap", "settings": {"n_sampling": 20, "random_state": 5, "groups": 10}}
        yield large | {"name": f"large {arithmetic} bootstrap"} | drawn


def wrong_settings() -> Iterator[Run]:
    for number, (method, settings) in enumerate(
        (
            ("fedrcd-z", {}),
            ("fedrcd-s", {"refin": "none"}),
            ("fedrcd-s", {"refine": "all"}),
            ("auto", {"refine": "none"}),
            ("fedrcd-s", {"weights": "some"}),
            ("fedrcd-s", {"penalty": -1.0}),
            ("fedrcd-s", {"within": "each"}),
            ("fedrcd-s", {"missing": "all"}),
            ("fedrcd-s", {"arithmetic": "decimal"}),
            ("fedrcd-s", {"trim": -1.0}),
            ("fedrcd-s", {"trim": 0.01}),
            ("fedrcd-s", {"stack": "yes"}),
            ("fedrcd-s", {"variables": ["v0", "v1"]}),
            ("fedrcd-s", {"drop": ["w"]}),
            ("fedrcd-s", {"drop": "v0"}),
            ("fedrcd-s", {"missing_codes": ["none"]}),
            ("fedrcd-sp", {"largest_fit": -2}),
            ("direct-lingam", {}),
            ("hc-lingam", {}),
            ("fedrcd-s", {"weights": "bootstrap", "threshold": 2.0}),
        )
    ):
        name = f"refused setting {number}: {method} {settings}"
        yield {"name": name, "data": SMALL, "split": THREE, "method": method, "settings": settings}
    for number, statements in enumerate(
        (
            {"required": [("v0", "v1"), ("v1", "v0")]},
            {"required": [("v0", "w")]},
            {"required": [("v0", "v1")], "forbidden": [("v0", "v1")]},
            {"tiers": [["v0"], ["v1"]], "before": [("v1", "v0")]},
            {"tiers": [["v0", "v1"], ["v1"]]},
            [[-1, 1], [0, -1]],
        )
    ):
        yield of("fedrcd-s", "float", SMALL, THREE) | {"name": f"refused knowledge {number}", "knowledge": statements}


def wrong_tables() -> Iterator[Run]:
    for method, kind in (
        ("fedrcd-s", "vertical"),
        ("fedrcd-x", "vertical"),
        ("fed-direct", "hybrid"),
        ("fedrcd-sx", "triples"),
        ("fedrcd-ni", "apart"),
        ("auto", "apart"),
    ):
        yield of(method, "float", SMALL, {"kind": kind}) | {"name": f"coverage of {method} {kind}"}
    stacked = {"name": "stacked columns that differ", "settings": {"stack": True}}
    yield of("hc", "float", SMALL, {"kind": "triples"}) | stacked
    for spoil in ("collinear", "constant", "text", "infinite", "huge", "no complete row"):
        for method in ("fedrcd-s", "fedrcd-x", "fedrcd-ni"):
            for arithmetic in ("float", "exact") if method == "fedrcd-s" else ("float",):
                data = {"p": 4, "n": 400, "seed": 4, "spoil": spoil}
                yield of(method, arithmetic, data, THREE) | {"name": f"{spoil} {method} {arithmetic}"}
    for n in (3, 6):
        for method in ("fedrcd-s", "fedrcd-ni"):
            data = {"p": 4, "n": n, "seed": 4}
            yield {"name": f"{n} rows {method}", "data": data} | asked(method, "float")
    yield {"name": "one variable", "data": {"p": 1, "n": 100, "seed": 4}, "method": "fedrcd-s"}


# in one process, as machines do

FOUR = {"p": 4, "n": 1800, "seed": 5}


def reference() -> Iterator[Run]:
    for arithmetic in (*EXACT, "float"):
        for method in FEDERATED:
            yield of(method, arithmetic, FOUR, THREE) | {"quick": arithmetic == "exact"}
    for method in FEDERATED:
        yield of(method, "exact", WIDE, {"kind": "horizontal", "sites": 5}) | {"name": f"{method} exact wide"}
        yield of(method, "exact", SMALL, SEVEN)
    for kind in ("vertical", "hybrid", "overlapping", "triples"):
        for method in OF_PAIRS:
            yield of(method, "exact", FOUR, {"kind": kind}) | {"quick": True}
        yield of("fedrcd-sp", "compact", FOUR, {"kind": kind})
    for kind in ("overlapping", "everything besides"):
        for method in ("fedrcd-s", "fedrcd-t", "fedrcd-sx", "fedrcd-x", "fed-direct"):
            yield of(method, "exact", FOUR, {"kind": kind}) | {"quick": method != "fed-direct"}
    for name, statements in KNOWLEDGE.items():
        for method in ("fedrcd-s", "fedrcd-x"):
            yield of(method, "exact", SMALL, THREE) | {"name": f"{method} knows {name}", "knowledge": statements}
    for method, options in OPTIONS:
        if method != "auto" and options.get("weights") != "bootstrap":
            name = f"{method} with {', '.join(f'{key}={value}' for key, value in options.items())}"
            yield of(method, "exact", SMALL, THREE) | {"name": name, "options": options}
    gaps = of("fedrcd-s", "exact", GAPS, THREE)
    yield gaps | {"name": "fedrcd-s exact gaps", "quick": True}
    yield of("fedrcd-x", "exact", SMALL, {"kind": "vertical"}) | {
        "name": "coverage of fedrcd-x vertical",
        "quick": True,
    }
    collinear = {"p": 4, "n": 900, "seed": 4, "spoil": "collinear"}
    for method in ("fedrcd-s", "fedrcd-ni"):
        yield of(method, "exact", collinear, THREE) | {"name": f"collinear {method}", "quick": True}
    yield of("fedrcd-s", "exact", SMALL, THREE) | {"name": "frame of nobody", "frame": "none", "quick": True}


# over a Grid in this process


def grid() -> Iterator[Run]:
    for arithmetic in (*EXACT, "float"):
        for method in FEDERATED:
            yield of(method, arithmetic, FOUR, THREE) | {"quick": arithmetic == "exact"}
    for kind in ("overlapping", "triples", "vertical"):
        yield of("fedrcd-sp", "exact", FOUR, {"kind": kind}) | {"quick": True}
    yield of("fedrcd-x", "exact", FOUR, {"kind": "overlapping"})
    yield of("auto", "exact", FOUR, THREE) | {"quick": True}
    yield of("auto", "exact", FOUR, {"kind": "triples"})
    yield from grid_with_more()
    yield from grid_refusals()


MANY = {"p": 3, "n": 9000, "seed": 6}
DRAWN = {"replicates": 20, "groups": 10, "seed": 7}


def grid_with_more() -> Iterator[Run]:
    for method, arithmetic in (("fedrcd-s", "exact"), ("fedrcd-sp", "compact"), ("fedrcd-ni", "float")):
        run = of(method, arithmetic, MANY, THREE) | {"resampling": DRAWN, "quick": method == "fedrcd-s"}
        yield run | {"name": f"bootstrap {method} {arithmetic}"}
    for method, arithmetic in (("fedrcd-s", "exact"), ("fedrcd-x", "exact"), ("fedrcd-ni", "float")):
        run = of(method, arithmetic, FOUR, THREE) | {"check": True, "quick": arithmetic == "exact"}
        yield run | {"name": f"checked {method} {arithmetic}"}
    both = {"name": "bootstrap and checks", "resampling": DRAWN, "check": True}
    yield of("fedrcd-s", "exact", MANY, THREE) | both
    for method in ("fedrcd-s", "fedrcd-x"):
        yield of(method, "exact", FOUR, THREE) | {"name": f"{method} knows", "knowledge": {"sinks": ["v0"]}}
    yield of("fedrcd-s", "exact", FOUR, THREE) | {"name": "bic", "options": {"weights": "bic"}}
    wrong_points = FOUR | {"spoil": "wrong points"}
    yield of("fedrcd-s", "exact", wrong_points, THREE) | {"name": "trimmed", "rules": {"trim": 8.0}, "quick": True}
    yield of("fedrcd-s", "exact", FOUR, THREE) | {"name": "frame asked for", "frame": "none"}
    yield of("fedrcd-x", "exact", FOUR, THREE) | {
        "name": "without a site",
        "absent": ["site-1"],
        "allow_missing": True,
    }


def grid_refusals() -> Iterator[Run]:
    exact = of("fedrcd-s", "exact", FOUR, THREE) | {"quick": True}
    few = FOUR | {"n": 420}
    yield exact | {"name": "too few rows", "data": few}
    yield exact | {"name": "too few rows, others go on", "data": few, "allow_missing": True}
    tensor = {"site-1": {"rules": {"rows_per_tensor": 1000.0}}}
    yield exact | {"name": "too few rows for the tensor", "sites": tensor}
    yield exact | {"name": "auto without the tensor", "sites": tensor, "method": "auto"}
    yield exact | {"name": "cells", "data": FOUR | {"spoil": "rare level"}}
    yield exact | {"name": "budget", "sites": {"site-0": {"rules": {"share": 0.01}}}}
    yield (
        exact
        | {"name": "budget of a second run", "method": "fedrcd-s", "before": [{"method": "fedrcd-x"}]}
        | {"sites": {"site-0": {"rules": {"share": 0.1}}}}
    )
    yield exact | {"name": "another arithmetic", "arithmetic": "float", "before": [{"arithmetic": "exact"}]}
    yield exact | {"name": "a second run", "method": "fedrcd-ni", "before": [{"method": "fedrcd-sp"}]}
    yield exact | {"name": "a site is missing", "absent": ["site-2"]}
    yield exact | {"name": "approval", "sites": {"site-0": {"approve": True}}, "approval": 0.0}
    yield exact | {"name": "coverage", "method": "fedrcd-x", "split": {"kind": "vertical"}}
    yield exact | {"name": "groups", "resampling": DRAWN}
    yield exact | {"name": "groups of several rounds", "resampling": DRAWN, "method": "fedrcd-x", "data": MANY}
    others = DRAWN | {"groups": 11}
    yield exact | {"name": "split", "data": MANY, "resampling": others, "before": [{"resampling": DRAWN}]}
    yield exact | {"name": "unknown method", "method": "fedrcd-z"}
    yield exact | {"name": "one table", "method": "direct-lingam"}
    yield exact | {"name": "unknown option", "options": {"refin": "none"}}
    yield exact | {"name": "collinear", "data": FOUR | {"spoil": "collinear"}}
    yield exact | {"name": "unknown knowledge", "knowledge": {"sinks": ["w"]}}
    yield exact | {"name": "no checks", "check": True, "sites": {"site-0": {"rules": {"checks": 0}}}}


# from a ledger


def ledger() -> Iterator[Run]:
    for after in ("joining", "erasure"):
        for arithmetic in EXACT:
            for method in ERASABLE:
                name = f"{method} {arithmetic} after {after}"
                quick = arithmetic == "exact" and method in ("fedrcd-s", "fedrcd-sp", "fedishc")
                yield of(method, arithmetic, FOUR, THREE) | {"name": name, "after": after, "quick": quick}
    for after in ("leaving", "nothing"):
        for method in ("fedrcd-s", "auto"):
            yield of(method, "exact", FOUR, THREE) | {"name": f"{method} after {after}", "after": after, "quick": True}
    for method in ("fedrcd-s", "fedrcd-ni"):
        yield of(method, "exact", FOUR, THREE) | {"name": f"{method} leaves one out", "do": "leave one site out"}
        yield of(method, "float", FOUR, THREE) | {"name": f"{method} float", "after": "erasure"}
    triples = {"name": "leaves one of triples out", "do": "leave one site out", "quick": True}
    yield of("fedrcd-sp", "exact", FOUR, {"kind": "triples"}) | triples
    for kind in ("vertical", "overlapping"):
        for after in ("joining", "erasure"):
            name = f"fedrcd-sp {kind} after {after}"
            yield of("fedrcd-sp", "exact", FOUR, {"kind": kind}) | {"name": name, "after": after}
    yield of("fedrcd-s", "exact", FOUR, THREE) | {"name": "knows", "knowledge": {"sinks": ["v0"]}}
    yield of("fedrcd-s", "exact", FOUR, THREE) | {"name": "bic", "options": {"weights": "bic"}}
    yield of("fedrcd-s", "exact", FOUR, THREE) | {"name": "pairs only", "families": ["pairs/4"], "quick": True}
    yield of("auto", "exact", FOUR, THREE) | {"name": "auto pairs only", "families": ["pairs/4"], "quick": True}
    yield of("fedrcd-x", "exact", FOUR, THREE) | {"name": "several rounds", "quick": True}
    yield of("hc", "exact", FOUR, THREE) | {"name": "one table", "quick": True}
    yield of("fedrcd-s", "exact", FOUR, THREE) | {"name": "no frame", "frame": "none", "quick": True}
    yield of("fedrcd-s", "exact", FOUR | {"n": 240}, THREE) | {"name": "too few rows", "quick": True}


# over real processes


def flower() -> Iterator[Run]:
    several = {"data": MANY, "split": THREE, "federation": "exact"}
    for method in ERASABLE:
        yield several | {"name": f"{method} exact"} | asked(method, "exact")
    for method in ("fedrcd-s", "fedrcd-sp", "fedishc"):
        yield several | {"name": f"{method} compact"} | asked(method, "compact")
    yield several | {"name": "fedrcd-x exact"} | asked("fedrcd-x", "exact")
    yield several | {"name": "auto"} | asked("auto", "exact")
    yield several | {"name": "bootstrap", "resampling": DRAWN} | asked("fedrcd-s", "exact")
    yield several | {"name": "checked", "check": True} | asked("fedrcd-s", "exact")
    yield several | {"name": "knows", "knowledge": {"sinks": ["v0"]}} | asked("fedrcd-s", "exact")
    yield several | {"name": "another split", "resampling": DRAWN | {"groups": 11}} | asked("fedrcd-s", "exact")
    yield several | {"name": "another arithmetic"} | asked("fedrcd-s", "float")
    plain = {"data": FOUR, "split": {"kind": "interleaved", "sites": 2}, "federation": "float"}
    for method in ("fedrcd-s", "fedrcd-ni", "fed-direct"):
        yield plain | {"name": f"{method} float"} | asked(method, "float")
