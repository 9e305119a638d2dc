"""Review files in the published layout: the published numbers, what is refused, and what a spreadsheet may not run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arpm.audit.review import report
from arpm.audit.review_csv import COLUMNS, SCORE, Row, guarded, read_reviews, unguarded, write_reviews
from arpm.errors import InputError

FIXTURES = Path(__file__).parents[1] / "fixtures"
PLAIN, SCORED = FIXTURES / "review_small.csv", FIXTURES / "review_small_scores.csv"
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "arpm_published"
BOM = b"\xef\xbb\xbf"


def changed(line: int, column: str, value: str, path: Path = PLAIN) -> bytes:
    """A file with one cell of a record (from 0) changed."""
    records = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    records[line][column] = value
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published files are not beside this checkout")
class TestThePublishedFiles:
    @pytest.mark.parametrize(
        ("name", "automatic", "manual", "corrected", "pending"),
        [("snr5", 0.54, 1.0, 23, 0), ("snr200", 0.44, 0.8, 18, 10)],
    )
    def test_the_table_of_the_paper(
        self, name: str, automatic: float, manual: float, corrected: int, pending: int
    ) -> None:
        reviews = read_reviews(name, (PUBLISHED / f"manual_review_{name}.csv").read_bytes())
        found = report(row.judged() for row in reviews.rows)
        assert (found.rounds, found.judged) == (50, 50)
        assert (found.automatic_accuracy, found.manual_accuracy) == (automatic, manual)
        assert (len(found.zero_to_one), found.one_to_zero, len(found.pending)) == (corrected, (), pending)
        assert (reviews.bad, reviews.disagreements) == ((), ())
        assert [round(point.automatic or 0, 4) for point in found.curve] == [r.original_accuracy for r in reviews.rows]
        assert [round(point.manual, 4) for point in found.curve] == [row.corrected_accuracy for row in reviews.rows]

    @pytest.mark.parametrize(("name", "guarded_cells"), [("snr5", 1), ("snr200", 0)])
    def test_they_are_written_again_byte_for_byte_but_for_the_guard(self, name: str, guarded_cells: int) -> None:
        data = (PUBLISHED / f"manual_review_{name}.csv").read_bytes()
        reviews = read_reviews(name, data)
        again = write_reviews(reviews.rows, scores=name == "snr200")
        assert again.replace(b",'+1)-1", b",+1)-1") == data
        assert len(again) - len(data) == guarded_cells
        assert read_reviews(name, again) == reviews


class TestReading:
    @pytest.mark.parametrize("path", [PLAIN, SCORED])
    def test_both_variants(self, path: Path) -> None:
        reviews = read_reviews(path.name, path.read_bytes())
        found = report(row.judged() for row in reviews.rows)
        assert (found.automatic_accuracy, found.manual_accuracy) == (0.4, 0.6)
        assert (found.zero_to_one, found.one_to_zero, found.pending) == ((2, 5), (4,), (3,))
        assert (reviews.bad, reviews.disagreements) == ((), ())
        second, last = reviews.rows[1], reviews.rows[4]
        assert (second.answer, second.shown, second.memory) == ("灯塔是\n绿色的。", ("p3", "p1"), "p1")
        assert last.quote == "=base+rise 是潮位的算法"
        assert [row.line for row in reviews.rows] == [2, 3, 5, 6, 7]
        assert last.score == (7.5 if path is SCORED else None)

    def test_files_as_spreadsheets_save_them(self) -> None:
        plain = read_reviews("plain", PLAIN.read_bytes())
        text = PLAIN.read_text("utf-8-sig")
        for data in (text.encode(), text.encode("utf-16"), text.encode("gb18030")):
            assert read_reviews("other", data) == plain
        records = list(csv.reader(io.StringIO(text, newline="")))
        semicolons = io.StringIO(newline="")
        csv.writer(semicolons, delimiter=";").writerows(records)
        again = read_reviews("semicolons", semicolons.getvalue().encode())
        assert again.rows == plain.rows

    @pytest.mark.parametrize(
        ("column", "value", "reason"),
        [
            ("round", "two", "round is 'two', which is no whole number from 1"),
            ("round", "0", "round is '0'"),
            ("round", "²", "round is"),
            ("round", "1", "round 1 is on line 2 already"),
            ("ManualSupport", "maybe", "ManualSupport is 'maybe'; it must be 是, 否 or 不确定"),
            ("AnswerCorrect", "", "AnswerCorrect is ''"),
            ("AutoCorrect", "2", "AutoCorrect is '2'; it must be 1 or 0"),
            ("AutoSupport", "不确定", "AutoSupport is"),
            ("prompt_knowledge_parent_ids", "[__import__('os')]", "is no list of ids"),
            ("CorrectedRollingAccuracy", "nan", "CorrectedRollingAccuracy is 'nan', which is no number"),
        ],
    )
    def test_a_bad_row_is_named_and_the_others_stay(self, column: str, value: str, reason: str) -> None:
        reviews = read_reviews("bad", changed(1, column, value))
        assert [row.round for row in reviews.rows] == [1, 3, 4, 5]
        assert [fault.line for fault in reviews.bad] == [3]
        assert reason in reviews.bad[0].reason

    def test_records_that_are_no_csv_or_of_another_width(self) -> None:
        lines = PLAIN.read_bytes().splitlines(keepends=True)
        reviews = read_reviews("x", lines[0] + b'a,b\n1:3,"1"x,\n\n' + b"".join(lines[1:]))
        assert len(reviews.rows) == 5
        assert [fault.line for fault in reviews.bad] == [2, 3]
        assert "has 2 cells where the first line has 17" in reviews.bad[0].reason
        open_quote = read_reviews("x", b"".join(lines) + b'1:3,6,"never closed\n')
        assert len(open_quote.rows) == 5
        assert open_quote.bad[0].line == 8

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "is empty"),
            (BOM, "is empty"),
            (b"a,b,c\n1,2,3\n", "the column snr_ratio is missing"),
            (PLAIN.read_bytes().replace(b"question", b"round", 1), "the column question is missing"),
            (PLAIN.read_bytes().replace(b"Accuracy\n", b"Accuracy,round\n", 1), "has a column twice"),
            (b"\xff\xfe\x00", "is no text in UTF-8"),
            (b"\xff\x00\x81\xff", "is no text in UTF-8"),
        ],
    )
    def test_what_is_no_review_file(self, data: bytes, reason: str) -> None:
        with pytest.raises(InputError, match=reason):
            read_reviews("x.csv", data)

    def test_what_does_not_follow_from_the_rows_is_named(self) -> None:
        reviews = read_reviews("x", changed(3, "FinalCorrect", "1"))
        assert [(fault.line, fault.reason) for fault in reviews.disagreements] == [
            (6, "FinalCorrect is 1 and follows as 0")
        ]
        reviews = read_reviews("x", changed(2, "AutoCorrect", "1"))
        assert [fault.line for fault in reviews.disagreements] == [5, 6, 7]
        assert reviews.disagreements[0].reason == "OriginalRollingAccuracy is 0.3333 and follows as 0.6667"


class TestWriting:
    @pytest.mark.parametrize(("path", "columns"), [(PLAIN, list(COLUMNS)), (SCORED, [*COLUMNS, SCORE])])
    def test_the_fixture_is_written_again_byte_for_byte(self, path: Path, columns: list[str]) -> None:
        data = path.read_bytes()
        again = write_reviews(read_reviews("x", data).rows, scores=path is SCORED)
        assert again == data
        assert again.startswith(BOM)
        assert again.decode("utf-8-sig").splitlines()[0] == ",".join(columns)

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'=", "''@"])
    def test_a_cell_that_would_be_a_formula_is_guarded(self, start: str) -> None:
        """Bug class: a message such as =HYPERLINK(…) runs when somebody opens the export in a spreadsheet."""
        words = f"{start}cmd|' /C calc'!A0"
        row = Row(1, words, words, "yes", "unsure", memory=words.strip(), quote=words, reason=words, ratio=words)
        data = write_reviews([row])
        (record,) = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        for column in ("question", "original_answer", "EvidenceQuote", "CorrectionReason", "snr_ratio"):
            assert record[column] == "'" + words
        (again,) = read_reviews("x", data).rows
        assert (again.question, again.answer, again.quote, again.reason) == (words, words, words, words)

    @given(st.text())
    def test_the_guard_is_undone_exactly(self, text: str) -> None:
        assert unguarded(guarded(text)) == text

    @pytest.mark.parametrize("score", [0.0, 102.8, -3.25, 0.016666666666666666, 1e-05, 1.7e22, 1 / 3])
    def test_any_score_comes_back(self, score: float) -> None:
        """Bug: a score with more digits than were expected made its row unusable."""
        row = Row(1, "q", "a", "yes", "yes", score=score)
        (again,) = read_reviews("x", write_reviews([row], scores=True)).rows
        assert again.score == score

    def test_ordinary_apostrophes_stay(self) -> None:
        assert guarded("'tis") == "'tis" == unguarded("'tis")

    @given(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.booleans())
    def test_any_text_comes_back(self, text: str, pending: bool) -> None:
        row = Row(3, text, text, "unsure", "no", shown=("m-1", "d-1/2"), auto_support=True, quote=text, pending=pending)
        (again,) = read_reviews("x", write_reviews([row])).rows
        assert (again.question, again.answer, again.quote, again.shown) == (text, text, text, row.shown)
        assert (again.support, again.correct, again.auto_support, again.auto_correct) == ("unsure", "no", True, None)
        assert again.pending
