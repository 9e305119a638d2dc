"""Exports over HTTP: the files of `arpm export`, noted in the logs folder, downloaded, and reached by an erasure."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arpm.cli import main
from arpm.exported import exported_files
from tests.support import ScriptedBackend, reply
from tests.web.support import Site, error_of, last, serving

EXPORTS = "/api/v1/audit/exports"
FORMATS = ("jsonl", "csv", "inspect", "croissant")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[tuple[Site, str]]:
    """A server with two timelines; the first has two turns."""
    with serving(tmp_path / "logs", ScriptedBackend([reply("In the boat house."), reply("=好的。")])) as site:
        timeline = site.timeline()
        for message in ("Where is my canoe?", "=它是蓝色的。"):
            last(site.send(timeline, message), "turn")
        last(site.send(site.timeline("Bo"), "Hello."), "turn")
        yield site, timeline


def made(site: Site, format: str, **given: Any) -> dict[str, Any]:
    """An export."""
    response = site.http.post(EXPORTS, json={"format": format, **given})
    assert response.status_code == 201, response.text
    return dict(response.json())


def content(site: Site, export: dict[str, Any], name: str) -> bytes:
    response = site.http.get(f"{EXPORTS}/{export['id']}/{name}")
    assert response.status_code == 200, response.text
    assert response.headers["Content-Disposition"].startswith("attachment")
    return response.content


@pytest.mark.parametrize("format", FORMATS)
def test_the_files_are_those_of_the_command_line(told: tuple[Site, str], tmp_path: Path, format: str) -> None:
    site, timeline = told
    export = made(site, format, timelines=[timeline])["export"]
    other = tmp_path / "by-hand"
    arguments = ["--logs", str(site.service.logs), "export", format, "--timeline", timeline, "--out", str(other)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    names = {path.name for path in other.iterdir()}
    assert {file["name"] for file in export["files"]} == names
    # Those that say when the export was made differ in that.
    for name in names - {"export.json", "croissant.json"}:
        assert content(site, export, name) == (other / name).read_bytes(), name


def test_an_archive_holds_every_file_as_it_is(told: tuple[Site, str]) -> None:
    site, timeline = told
    export = made(site, "jsonl", timelines=[timeline])["export"]
    answer = site.http.get(f"{EXPORTS}/{export['id']}.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        assert packed.testzip() is None
        found = {name.partition("/")[2]: packed.read(name) for name in packed.namelist()}
    assert set(found) == {file["name"] for file in export["files"]}
    assert all(data == content(site, export, name) for name, data in found.items())
    turns = [json.loads(line) for line in found["turns.jsonl"].decode().splitlines()]
    assert [turn["message"] for turn in turns] == ["Where is my canoe?", "=它是蓝色的。"]


def test_no_cell_of_a_table_is_a_formula(told: tuple[Site, str]) -> None:
    site, timeline = told
    export = made(site, "csv", timelines=[timeline])["export"]
    rows = list(csv.reader(io.StringIO(content(site, export, "turns.csv").decode("utf-8-sig"))))
    assert any("它是蓝色的" in cell for row in rows for cell in row)
    assert not any(cell[:1] in "=+@" for row in rows for cell in row if cell)


def test_all_timelines_and_what_is_said_of_a_data_set(told: tuple[Site, str]) -> None:
    site, _ = told
    answer = made(site, "croissant", name="canoes", license="CC0-1.0", creator="Ada 王")
    metadata = json.loads(content(site, answer["export"], "croissant.json"))
    assert metadata["name"] == "canoes"
    assert "Ada 王" in json.dumps(metadata, ensure_ascii=False)
    assert len([name for name in answer["export"]["timelines"] if name != "knowledge"]) == 2
    assert answer["erased"] == "Nothing in it was erased."


def test_every_export_is_noted_and_two_in_a_second_have_folders_of_their_own(told: tuple[Site, str]) -> None:
    site, timeline = told
    folders = [made(site, "jsonl", timelines=[timeline])["export"]["folder"] for _ in range(3)]
    assert len(set(folders)) == 3
    noted = {str(file.path.parent) for file in exported_files(site.service.logs, [timeline])}
    assert noted == set(folders)
    listed: list[str] = []
    more = True
    while more:
        page = site.http.get(f"{EXPORTS}?limit=2&after={len(listed)}").json()
        listed += [item["folder"] for item in page["exports"]]
        more = page["more"]
    assert sorted(listed) == sorted(folders)


def test_an_erasure_reaches_what_was_exported(told: tuple[Site, str]) -> None:
    """Bug class: the words are gone from the ledger and still lie in a folder that a page wrote."""
    site, timeline = told
    export = made(site, "jsonl", timelines=[timeline])["export"]
    folder = Path(export["folder"])
    assert any(b"Where is my canoe?" in path.read_bytes() for path in folder.iterdir())
    memory = site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["memories"][-1]["id"]
    what = {"timeline": timeline, "memories": [memory]}
    reach = site.http.post("/api/v1/erasures/reach", json=what).json()["reach"]
    assert any(str(folder) in file for file in reach["files"])
    done = site.http.post("/api/v1/erasures", json={**what, "confirm": reach["confirm"]})
    assert done.status_code == 200, done.text
    assert not any(path.is_file() for path in folder.glob("*"))
    error_of(site.http.get(f"{EXPORTS}/{export['id']}.zip"), 404, "not_found")
    error_of(site.http.get(f"{EXPORTS}/{export['id']}/turns.jsonl"), 404, "not_found")


def test_what_was_changed_since_is_marked_and_not_served(told: tuple[Site, str]) -> None:
    site, timeline = told
    export = made(site, "jsonl", timelines=[timeline])["export"]
    path = Path(export["folder"]) / "turns.jsonl"
    path.write_bytes(b"other")
    (listed,) = site.http.get(EXPORTS).json()["exports"]
    assert {file["name"]: file["state"] for file in listed["files"]}["turns.jsonl"] == "changed"
    error_of(site.http.get(f"{EXPORTS}/{export['id']}/turns.jsonl"), 404, "not_found")
    content(site, export, "export.json")


def test_those_of_the_command_line_are_listed_and_stay_where_they_are(told: tuple[Site, str], tmp_path: Path) -> None:
    """Bug class: a page serves any file of the machine that an export's record names."""
    site, timeline = told
    other = tmp_path / "by-hand"
    arguments = ["--logs", str(site.service.logs), "export", "jsonl", "--timeline", timeline, "--out", str(other)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    (listed,) = site.http.get(EXPORTS).json()["exports"]
    assert (listed["id"], listed["folder"]) == (None, str(other))
    for name in ("by-hand/turns.jsonl", "by-hand.zip", "..%2fby-hand/turns.jsonl", "../by-hand/turns.jsonl"):
        assert site.http.get(f"{EXPORTS}/{name}").status_code in (400, 404), name


def test_bad_requests_are_refused_by_name(told: tuple[Site, str]) -> None:
    site, _ = told
    for given in ({}, {"format": "pdf"}, {"format": 1}, {"format": "csv", "timelines": [1]}, {"format": "csv", "x": 1}):
        error_of(site.http.post(EXPORTS, json=given), 400, "input")
    error_of(site.http.post(EXPORTS, json={"format": "csv", "timelines": ["t-000000000000"]}), 404, "not_found")
    for id in ("csv-20260101T000000", "..", "%2e%2e", "x"):
        assert site.http.get(f"{EXPORTS}/{id}/turns.csv").status_code in (400, 404)
    foreign = site.http.post(EXPORTS, json={"format": "csv"}, headers={"Origin": "http://evil.example"})
    error_of(foreign, 403, "cross_site")
    assert site.http.get(EXPORTS).json()["exports"] == []


def test_a_damaged_timeline_is_exported_up_to_the_damage_and_it_is_said(told: tuple[Site, str]) -> None:
    site, timeline = told
    path = site.service.logs / timeline / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace("它是蓝色的".encode(), "它是绿色的".encode(), 1))
    answer = made(site, "jsonl", timelines=[timeline])
    assert list(answer["damage"]) == [timeline]
    assert len(content(site, answer["export"], "turns.jsonl").splitlines()) == 1


def test_nothing_to_export_is_said(tmp_path: Path) -> None:
    with serving(tmp_path / "logs") as site:
        error = error_of(site.http.post(EXPORTS, json={"format": "csv"}), 400, "input")
        assert "no timeline" in error["message"]
