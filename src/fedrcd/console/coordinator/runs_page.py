"""Runs: what each will cost and who would refuse, start, watch, go on with; results: report and comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from starlette.responses import Response

from fedrcd.api.comparison import compare
from fedrcd.api.discovery import Discovery
from fedrcd.api.machines import RUNS, Machines, Waiting
from fedrcd.api.saved_page import saved_page
from fedrcd.console.coordinator.place import ASKED, CoordinatorPlace, SeenRun
from fedrcd.console.tokens import ADMINISTER
from fedrcd.console.web import Page, Visit, document, text_file
from fedrcd.data.federation import Federation
from fedrcd.data.knowledge_file import read_knowledge
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator.asked_numbers import asked_numbers
from fedrcd.federation.coordinator.called_sites import CalledSites
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.flower.coordinator import ask
from fedrcd.methods.auto import AUTO
from fedrcd.methods.registry import METHODS
from fedrcd.methods.settings import Settings

ASKING = RetryPolicy(deadline=60.0, give_up_after=10.0)
"""How long a site has to say what it would refuse."""


def pages(place: CoordinatorPlace) -> list[Page]:
    """The pages of runs, and what is done there."""

    def runs(visit: Visit) -> Response:
        listed = place.runs()
        return visit.show(
            "coordinator/runs.html",
            runs=[one for one in listed if not one.plan.ledger and not one.plan.asks_only],
            methods=[AUTO, *sorted(name for name, card in METHODS.items() if not card.one_table)],
            cards={name: card for name, card in METHODS.items() if not card.one_table},
        )

    def start(visit: Visit) -> Response:
        form = visit.form
        if not form.get("title", "").strip() or not form.get("purpose", "").strip():
            raise ConfigError("say what the run is called and what it is for: every site sees both")
        machines = place.machines
        plan = _plan(machines, form)
        if form.get("act") == "ask":
            folder = Path(plan.folder)
            plan = replace(plan, folder=str(folder.with_name(ASKED + folder.name)), asks_only=True)
            plan = replace(plan, wait=5.0, retry_policy=ASKING)
            name = place.begin(plan, lambda there: ask(there.coordinator, plan, lambda _: None))
            place.actions.note(f"asked the sites about a run of {plan.settings.method}", visit.who, plan.purpose)
            return visit.back(f"/runs/{name}")
        name = place.conduct(plan)
        place.actions.note(f"started a run of {plan.settings.method}: {plan.title}", visit.who, plan.purpose)
        return visit.back(f"/runs/{name}")

    def run(visit: Visit) -> Response:
        seen = place.run(visit.values["name"])
        found = None
        if seen.has_result and not seen.plan.ledger and not seen.plan.asks_only:
            found = Discovery.from_json(place.discovery_file(seen))
        others = [one for one in place.runs() if _has_discovery(one) and one.name != seen.name]
        return visit.show(
            "coordinator/run.html",
            run=seen,
            called=CalledSites.read(seen.folder),
            costs=_costs(seen, place.federation),
            found=found,
            edges=sorted(found.edges(), key=lambda one: -abs(one.weight)) if found else [],
            others=others,
        )

    def resume(visit: Visit) -> Response:
        seen = place.run(visit.form.get("name", ""))
        if not seen.can_resume:
            raise ConfigError("this run is under way, or over")
        place.conduct(seen.plan)
        place.actions.note(f"went on with the run {seen.name}: {seen.plan.title}", visit.who)
        return visit.back(f"/runs/{seen.name}")

    def report(visit: Visit) -> Response:
        seen = place.run(visit.values["name"])
        place.discovery_file(seen)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            saved_page(seen.folder, page, place.federation_file)
            return document(page.read_text(encoding="utf-8"))

    def compared(visit: Visit) -> Response:
        pair = [place.run(visit.values.get(name, "")) for name in ("before", "after")]
        before, after = (Discovery.from_json(place.discovery_file(one)) for one in pair)
        titles = tuple(one.plan.title or one.name for one in pair)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "compared.html"
            compare(before, after, titles=(titles[0], titles[1])).report(page)
            return document(page.read_text(encoding="utf-8"))

    def saved(visit: Visit) -> Response:
        seen = place.run(visit.values["name"])
        text = place.discovery_file(seen).read_text(encoding="utf-8")
        return text_file(f"{seen.name}.json", text, "application/json")

    return [
        Page("/runs", runs, title="Runs"),
        Page("/runs/start", start, ADMINISTER, acts=True),
        Page("/runs/resume", resume, ADMINISTER, acts=True),
        Page("/compare", compared),
        Page("/runs/{name}", run),
        Page("/runs/{name}/report", report),
        Page("/runs/{name}/discovery.json", saved),
    ]


def _plan(machines: Machines, form: Mapping[str, str]) -> RunPlan:
    """The plan that a form asks for; what is wrong with it is said before anything starts."""
    settings = Settings.of(form.get("method") or AUTO, arithmetic="exact")
    known = form.get("knowledge", "").strip()
    if known:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "knowledge.toml"
            path.write_text(known, encoding="utf-8")
            settings = replace(settings, knowledge=read_knowledge(path))
    waiting = Waiting(
        allow_missing=bool(form.get("allow_missing")),
        clear=bool(form.get("clear")),
        trust_coordinator=bool(form.get("trust")),
    )
    told = {"title": form.get("title", "").strip(), "purpose": form.get("purpose", "").strip()}
    plan = machines.plan(settings, waiting=waiting, check_scale=True, **told)
    return replace(plan, folder=str(Path(machines.coordinator.state) / RUNS / plan.run))


def _costs(run: SeenRun, federation: Federation) -> dict[str, int]:
    """How many numbers every site would release in the first round, where the method is known."""
    called = CalledSites.read(run.folder)
    method = called.method if called else run.plan.settings.method
    return {} if method == AUTO else asked_numbers(federation, run.plan, method)


def _has_discovery(run: SeenRun) -> bool:
    return run.has_result and not run.plan.ledger and not run.plan.asks_only
