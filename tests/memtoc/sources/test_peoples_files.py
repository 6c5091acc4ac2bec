"""Files as spreadsheets, pandas and colleagues write them: read right or refused."""

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from harness.errors import UserError
from memtoc.benchmark.files.raw import Reading
from memtoc.sources.csv_source import load, read

HEADER = "question,answer,near"
FACTS = [
    ("Who ran the mill?", "Otto Lind", "Karl Moe"),
    ("Who closed it?", "Per Aas", "Nils Dahl"),
]
PLAIN = f"{HEADER}\nWho ran the mill?,Otto Lind,Karl Moe\nWho closed it?,Per Aas,Nils Dahl\n"
RECORDS = [dict(zip(HEADER.split(","), fact, strict=True)) for fact in FACTS]
FRAME = pd.DataFrame(RECORDS)
ACCENTS = PLAIN.replace("Otto Lind", "Jörg Müller").replace("Per Aas", "Zoé Œhl")


def facts(path: Path, **how: str) -> list[tuple[str, str, str]]:
    questions = load(path, "mine", Reading(key="benchmark.", **how)).questions
    return [(q.text, q.gold, q.near) for q in questions]


def notes(path: Path, **how: str) -> str:
    return "\n".join(load(path, "mine", Reading(key="benchmark.", **how)).remarks)


def parquet(frame: pd.DataFrame) -> bytes:
    frame.to_parquet(written := io.BytesIO())
    return written.getvalue()


def xlsx(frame: pd.DataFrame, **how: bool) -> bytes:
    frame.to_excel(written := io.BytesIO(), **how)
    return written.getvalue()


def joined(separator: str, quote: str = "") -> str:
    lines = [HEADER.split(","), *FACTS]
    return "".join(separator.join(f"{quote}{c}{quote}" for c in line) + "\n" for line in lines)


READ = {
    "plain": (PLAIN, "2 rows read, 2 used"),
    "cr line ends": (PLAIN.replace("\n", "\r"), ""),
    "crlf and bom": (b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode(), ""),
    "semicolons": (joined(";"), "separated by semicolons (found in the header"),
    "tabs": (joined("\t"), "separated by tabs"),
    "pipes": (joined("|"), "separated by pipes"),
    "semicolons and quotes": (joined(";", '"'), "separated by semicolons"),
    "tabs and quotes": (joined("\t", '"'), "separated by tabs"),
    "sep=; first": ("sep=;\n" + joined(";"), "separated by semicolons (the first line says so"),
    "sep=, first": ("SEP=,\r\n" + PLAIN, ""),
    "utf-16 with bom": (joined("\t").encode("utf-16"), "UTF-16"),
    "utf-16 big-endian": (b"\xfe\xff" + PLAIN.encode("utf-16-be"), "UTF-16"),
    "utf-16 without bom": (PLAIN.encode("utf-16-le"), "guessed"),
    "rows of empty cells": (
        PLAIN.replace("\nWho closed", "\n,,\n , \u00a0,\nWho closed"),
        "4 rows read, 2 used, 2 empty (rows 3, 4)",
    ),
    "header again": (
        PLAIN.replace("\nWho closed", f"\n{HEADER}\nWho closed"),
        "3 rows read, 2 used, 1 the header again (row 3)",
    ),
    "header case and spaces": (
        PLAIN.replace(HEADER, "\u00a0Question ,ANSWER\u00a0,Near\u200b"), "2 rows read, 2 used"
    ),
    "aliases gold and wrong": (
        PLAIN.replace(HEADER, "Question,GOLD ,wrong"), "GOLD is taken as answer, wrong as near"
    ),
    "aliases target and distractor": (
        PLAIN.replace(HEADER, "question,target,Distractor"), "target is taken as answer"
    ),
    "pandas' index": (FRAME.to_csv(), "column 1 has no name and counts the rows: left out"),
    "pandas' index saved twice": (
        pd.read_csv(io.StringIO(FRAME.to_csv())).to_csv(), "Unnamed: 0"
    ),
    "empty trailing columns": (
        PLAIN.replace("\n", ",,\n"), "2 columns without name or text (4, 5) are left out"
    ),
    "typographic quotes": (
        "".join("“" + "”,“".join(line) + "”\n" for line in [HEADER.split(","), *FACTS]),
        "typographic or single quotes round the cells are taken off",
    ),
    "jsonl": ("".join(json.dumps(r) + "\n" for r in RECORDS), "JSON"),
    "array": (json.dumps(RECORDS), "JSON"),
    "pretty-printed": (json.dumps(RECORDS, indent=2), "JSON"),
    "json in utf-16": (json.dumps(RECORDS).encode("utf-16"), "UTF-16"),
    "json with bom": (b"\xef\xbb\xbf" + json.dumps(RECORDS).encode(), "JSON"),
    "objects one after another": ("".join(json.dumps(r, indent=1) for r in RECORDS), "JSON"),
    "jsonl.gz": (
        gzip.compress("".join(json.dumps(r) + "\n" for r in RECORDS).encode()), "gzip"
    ),
    "csv.gz": (gzip.compress(PLAIN.encode()), "gzip"),
    "a list under one key": (json.dumps({"version": 1, "data": RECORDS}), "under the key 'data'"),
    "pandas' to_json": (FRAME.to_json(), "by columns"),
    "pandas' records": (FRAME.to_json(orient="records", lines=True), "JSON"),
    "xlsx": (xlsx(FRAME, index=False), "xlsx"),
    "xlsx with an index": (xlsx(FRAME), "counts the rows"),
    "parquet": (parquet(FRAME), "parquet"),
    "parquet with an index": (parquet(FRAME.assign(__index_level_0__=[3, 7])), "__index_level_0__"),
    "extra empty cells": (PLAIN.replace("Moe\n", "Moe,,\n"), ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("name", ["my.csv", "mine", "questions.jsonl", "x.parquet"])
def test_a_file_is_read_by_what_it_holds_whatever_its_name(tmp_path, kind, name):
    content, words = READ[kind]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert facts(path) == FACTS
    assert words in notes(path)
    assert [(q.text, q.gold, q.near) for q in read(path)] == FACTS


@pytest.mark.parametrize(
    ("encoding", "called"), [("cp1252", "Windows-1252"), ("mac_roman", "Mac Roman")]
)
@pytest.mark.parametrize(
    "changed",
    ["Jörg Müller", "Zoé Œhl", "Gabriel García", "François Mühle", "Kurt Gödel", "Ole Bjørn",
     "“Ångström”", "Karl Groß", "the café’s", "Señor Peña", "Ærø"],
)  # fmt: skip
def test_an_encoding_is_guessed_and_the_guess_shown(tmp_path, encoding, called, changed):
    path = tmp_path / "my.csv"
    path.write_bytes(PLAIN.replace("Otto Lind", changed).encode(encoding))
    assert facts(path)[0][1] == changed
    said = notes(path)
    assert f"not UTF-8: read as {called}" in said and "benchmark.encoding=" in said
    assert any(word.strip("“”") in said for word in changed.split())
    assert facts(path, encoding=encoding)[0][1] == changed
    assert "not UTF-8" not in notes(path, encoding=encoding)


REFUSED = {
    "a stray quote swallows a row": (
        f'{HEADER}\n"Who ran the mill?,Otto Lind,Karl Moe\nWho closed it?",Per Aas,Nils Dahl\n',
        "line 2: the quote that opens here swallows the next row (it closes in line 3)",
    ),
    "in a later row, with semicolons": (
        'question;answer;near\nA?;b;c\n"Who ran it?;Otto;Karl\nWho closed it?";Per;Nils\n',
        "line 3: the quote that opens here swallows the next row",
    ),
    "in another column": (
        f'{HEADER}\nWho ran it?,"Otto,Karl\nWho closed it?,Per",Nils\n',
        "line 2: the quote that opens here swallows the next row",
    ),
    "in the last column": (
        f'{HEADER}\nWho ran it?,Otto,"Karl\nWho closed it?,Per,Nils"\n',
        "line 2: the quote that opens here swallows the next row",
    ),
    "and the row gets too long": (
        f'{HEADER}\nWho ran it?,Otto,"Karl\nWho closed it?",Per,Nils\n',
        "line 2: the quote that opens here swallows the next row",
    ),
    "many rows": (
        f'{HEADER}\n"A?,b,c\nD?,e,f\nG?,h,i\nJ?",k,l\n',
        "line 2: the quote that opens here swallows the next rows (it closes in line 5)",
    ),
    "an unclosed quote": (
        PLAIN.replace("Who closed", '"Who closed'),
        "line 3: the quote that opens here is never closed",
    ),
    "a misplaced quote": (
        PLAIN.replace("Who closed it?", '"Who" closed it?'),
        "line 3: the quote that opens here closes in the midst of a cell",
    ),
    "opened in an earlier line": (
        f'{HEADER}\nA?,"b,c\nD?,e,f\nG?,"h",i\n',
        "line 2: the quote that opens here closes in the midst of a cell (line 4",
    ),
    "a cell that is too long": (
        PLAIN.replace("Per Aas", "x" * 131_073), "line 3: a cell is longer than 131,072 characters"
    ),
    "a quote that runs too far": (
        PLAIN.replace("Who closed", '"Who closed') + "A?,b,c\n" * 30_000,
        "line 3: the quote that opens here runs over 131,072 characters",
    ),
    "nul bytes": (PLAIN + "\0" * 50, "row 4 holds NUL bytes"),
    "mixed encodings": (
        PLAIN.replace("Otto", "Jörg").encode() + "Who left?,Zoé,Léa\n".encode("cp1252"),
        "line 4 is not UTF-8, and line 2 is: two encodings in one file",
    ),
    "a comma in a cell": (
        PLAIN.replace("Otto Lind", "Lind, Otto"), "row 2: 4 cells under 3 columns"
    ),
    "cyrillic in windows-1251": (
        PLAIN.replace("Otto Lind", "Фёдор Достоевский").encode("cp1251"), "benchmark.encoding="
    ),
    "two columns for one": (
        PLAIN.replace(HEADER, "question,answer,gold"), "'gold' stands for answer, which is there"
    ),
    "a column without a name": (
        PLAIN.replace(HEADER, "question,answer,near,").replace("Moe\n", "Moe,x\n").replace(
            "Dahl\n", "Dahl,\n"),
        "column 4 has no name, but row 2 holds 'x' in it",
    ),
    "broken json": ('[{"question": "A?", "answer": "b"},\n{"question" "B?"}]', "line 2"),
    "broken jsonl": ('{"question": "A?", "answer": "b", "near": "c"}\n{"question": ', "line 2"),
    "json that is no rows": ('[1, 2]', "an object is needed"),
    "a list as an answer": (
        '{"question": "A?", "answer": ["b", "c"], "near": "d"}', "'answer' holds a list"
    ),
    "a key twice": ('{"question": "A?", "question": "B?", "near": "d"}', "stands twice"),
    "an old workbook": (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "save it as xlsx"),
    "a zip of other things": (None, "a zip archive"),
    "a web page": ("<!DOCTYPE html><html><body>404</body></html>", "a web page"),
    "a git lfs pointer": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n", "git lfs pull"
    ),
    "a pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF"),
    "cut gzip": (gzip.compress(PLAIN.encode() * 50)[:60], "damaged gzip"),
    "cut parquet": (parquet(FRAME)[:200], "not a parquet file"),
    "nothing": (b"", "holds no question"),
    "blank lines": (b"\n\n \n", "holds no question"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_cannot_be_read_says_where_and_what_to_do(tmp_path, kind):
    content, words = REFUSED[kind]
    if content is None:
        with zipfile.ZipFile(written := io.BytesIO(), "w") as archive:
            archive.writestr("a.txt", "x")
        content = written.getvalue()
    path = tmp_path / "my.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as refused:
        facts(path)
    message = str(refused.value)
    assert words in message and str(path) in message and "\n" not in message
    assert "Error" not in message


def test_a_cell_with_a_line_break_of_its_own_is_named(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(
        f'{HEADER}\n"In which town,\nnear the Elbe, is it?",Otto,Karl\nA?,"Per\nAas",Nils\n'
    )
    assert facts(path)[0][0] == "In which town, near the Elbe, is it?"
    assert "2 cells hold a line break (rows 2, 3): read as a space" in notes(path)


def test_u2028_in_a_text_of_json_ends_no_line(tmp_path):
    path = tmp_path / "my.jsonl"
    rows = [{**RECORDS[0], "question": "Who ran\u2028the mill?"}, RECORDS[1]]
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    assert [fact[1] for fact in facts(path)] == ["Otto Lind", "Per Aas"]


@pytest.mark.parametrize("given", [";", "semicolon"])
def test_the_separator_can_be_set(tmp_path, given):
    path = tmp_path / "my.csv"
    path.write_text(joined(";").replace("Otto", "a,b"))
    assert facts(path, delimiter=given)[0][1] == "a,b Lind"
    assert "found" not in notes(path, delimiter=given)
    with pytest.raises(UserError, match="column 'question' is missing"):
        facts(path, delimiter="tab")


def test_numbers_and_nothing_in_json_and_parquet_are_texts_and_empty_cells(tmp_path):
    rows = [{**RECORDS[0], "answer": 1937, "near": 1938.50, "far": None, "aliases": ["'37", "MCM"]}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (question,) = load(tmp_path / "a.json", "mine", Reading()).questions
    assert (question.gold, question.near, question.far) == ("1937", "1938.5", None)
    assert question.aliases == ("'37", "MCM")
    frame = pd.DataFrame({**FRAME, "far": [1937.0, None]})
    (tmp_path / "a.parquet").write_bytes(parquet(frame))
    questions = load(tmp_path / "a.parquet", "mine", Reading()).questions
    assert [q.far for q in questions] == ["1937", None]


def test_a_second_sheet_is_named(tmp_path):
    book = Workbook()
    for line in [HEADER.split(","), *FACTS]:
        book.active.append(line)
    book.create_sheet("More").append(["x"])
    book.save(tmp_path / "my.xlsx")
    assert facts(tmp_path / "my.xlsx") == FACTS
    assert "the first of its sheets, 'Sheet'" in notes(tmp_path / "my.xlsx")


def test_a_sheet_that_is_formatted_to_its_last_row_ends_with_its_last_text(tmp_path):
    book = Workbook()
    for line in [HEADER.split(","), FACTS[0], [], FACTS[1]]:
        book.active.append(line)
    book.active["C5000"].number_format = "@"
    book.active["C5000"] = " "
    book.save(tmp_path / "my.xlsx")
    assert facts(tmp_path / "my.xlsx") == FACTS
    assert "3 rows read, 2 used, 1 empty (row 3)" in notes(tmp_path / "my.xlsx")


@pytest.mark.parametrize("cell", ["=1+1", True, "#N/A", "percent"])
def test_what_a_cell_shows_and_does_not_hold_is_refused(tmp_path, cell):
    book = Workbook()
    for line in [HEADER.split(","), [*FACTS[0][:2], 0.5 if cell == "percent" else cell]]:
        book.active.append(line)
    if cell == "percent":
        book.active["C2"].number_format = "0%"
    book.save(tmp_path / "my.xlsx")
    with pytest.raises(UserError, match=r"row 2: .* text"):
        facts(tmp_path / "my.xlsx")


def test_questions_on_a_later_sheet_are_found_there(tmp_path):
    book = Workbook()
    book.active.append(["Please read me first"])
    book.create_sheet("Empty")
    sheet = book.create_sheet("Questions")
    for line in [HEADER.split(","), *FACTS]:
        sheet.append(line)
    book.save(tmp_path / "my.xlsx")
    assert facts(tmp_path / "my.xlsx") == FACTS
    assert "sheet 3 of 3, 'Questions'" in notes(tmp_path / "my.xlsx")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '"question,answer,near"\n"Who?,A B,C D"\n',
            "the header is question,answer,near: take off quotes round whole",
        ),
        ("q\x1b[2J,x\nWho?,A B\n", r"the header is q\\x1b\[2J, x"),
    ],
)
def test_a_header_that_is_none_is_shown_as_it_can_be_printed(tmp_path, text, words):
    (tmp_path / "my.csv").write_text(text)
    with pytest.raises(UserError, match=words):
        facts(tmp_path / "my.csv")


def test_a_file_that_is_packed_twice_is_refused(tmp_path):
    (tmp_path / "my.gz").write_bytes(gzip.compress(gzip.compress(PLAIN.encode())))
    with pytest.raises(UserError, match="by gzip twice"):
        facts(tmp_path / "my.gz")


def test_what_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("memtoc.benchmark.files.contents.MOST_BYTES", 20_000)
    bomb = gzip.compress(PLAIN.encode() + b"A?,b,c\n" * 9_000)
    (tmp_path / "my.csv.gz").write_bytes(bomb)
    with pytest.raises(UserError, match="unpacks to more than"):
        facts(tmp_path / "my.csv.gz")
    with zipfile.ZipFile(tmp_path / "my.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", " " * 90_000)
    with pytest.raises(UserError, match="unpacks to more than"):
        facts(tmp_path / "my.xlsx")
    (tmp_path / "big.csv").write_text(PLAIN + "A?,b,c\n" * 9_000)
    with pytest.raises(UserError, match="larger than"):
        facts(tmp_path / "big.csv")


DRY = ("benchmark=csv", "engine=mock", "tracker=none", "dry_run=true")


def identities(text: str) -> set[str]:
    """The hashes of the arms that a dry run names; what stands before them names the file."""
    return set(re.findall(r"^arm \S+-([0-9a-f]{8})$", text, flags=re.MULTILINE))


def test_a_run_says_what_it_read_and_the_shape_of_a_file_is_no_part_of_it(entry, tmp_path):
    arms = set()
    shapes = {
        "a.csv": PLAIN, "b.csv": joined(";"), "c.json": json.dumps(RECORDS), "d.xlsx": xlsx(FRAME)
    }  # fmt: skip
    for name, content in shapes.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        ended = entry(*DRY, f"benchmark.path={name}")
        assert ended.code == 0 and f"{name}: 2 rows read, 2 used" in ended.out
        arms |= identities(ended.out)
    set_by_hand = entry(*DRY, "benchmark.path=b.csv", "benchmark.delimiter=semicolon")
    assert "found in the header" not in set_by_hand.out
    arms |= identities(set_by_hand.out)
    assert len(arms) == 1


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("benchmark.delimiter=semikolon", "it is comma, semicolon, tab, pipe, space, or one sign"),
        ("benchmark.encoding=utf9", "no such encoding"),
        ("benchmark.encoding=base64", "no such encoding"),
        ("benchmark.delimiter=tab", "column 'question' is missing: the header is question,answer"),
        ("benchmark.encoding=ascii", "line 2 is not ascii"),
    ],
)
def test_a_wrong_separator_or_encoding_is_one_line(entry, tmp_path, override, words):
    (tmp_path / "my.csv").write_text(ACCENTS)
    ended = entry(*DRY, "benchmark.path=my.csv", override)
    assert ended.code == 2 and words in ended.err and ended.err.count("\n") == 1


# Digests that these bytes had before other shapes were read.
BEFORE = {
    "9cb392ac01f761389baa0d05bd2dd8ba781416c3622098b9349af949aeac51c4": (
        "question,answer,near,far,aliases,chain,fold\n"
        "In which city did Gustav Mahler die?,Vienna,Graz,Kyoto,Wien|Vienna (Austria),mahler,\n"
        "When was Gustav Mahler born?,7 July 1860,9 May 1861,,,mahler,B\n"
        "Who is the director of Alien?,Ridley Scott,John Carpenter,,,,\n"
    ),
    "5a4b00ef6fe3a6036ca33817cfa37d3bad6b825bb62c235d2e0b00edb8c1dc6a": (
        'question , answer,"near"\n\n"In which town,\r\n did\tMahler die? ","Vien\n na", Graz\n'
        ",,\n  ,,\nWho?,'=x,''-a\n“Who; sang?”,“Heroes”,a|b\n"
    ),
}


@pytest.mark.parametrize("digest", BEFORE)
def test_what_was_read_before_is_read_the_same(tmp_path, digest):
    path = tmp_path / "my.csv"
    path.write_bytes(BEFORE[digest].encode())
    assert load(path, "mine", Reading()).digest == digest


# Further variants, each tried first as a new user would: with evaluate.py and dry_run=true.
ALSO_READ = {
    "a caret": (joined("^"), "separated by '^'"),
    "full-width commas": (joined("，"), "separated by '，'"),
    "sep= names another": ("sep=,\n" + joined(";"), "the first line says ','"),
    "a title above the header": (
        "My questions,,\n,,\n" + PLAIN, "3 rows read, 2 used, 1 above the header (row 1)"
    ),
    "mixed line ends": (PLAIN.replace("Moe\n", "Moe\r").replace("near\n", "near\r\n"), ""),
    "single quotes": (joined(",", "'"), "single quotes round the cells are taken off"),
    "guillemets": ("question;answer;near\n" + "".join(
        ";".join(f"«{cell}»" for cell in fact) + "\n" for fact in FACTS), "taken off"),
    "a markdown table": (
        "| question | answer | near |\n|---|:--|---|\n" + "".join(
            f"| {' | '.join(fact)} |\n" for fact in FACTS), "1 a rule of dashes (row 2)"),
    "a column called #": (
        "#," + PLAIN.replace("\nWho ran", "\n1,Who ran").replace("\nWho closed", "\n2,Who closed"),
        "column 1 '#' counts the rows: left out"),
    "ctrl-z": (PLAIN + "\x1a", ""),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf" + PLAIN.encode(), ""),
    "pandas' split": (FRAME.to_json(orient="split"), "by rows under 'data'"),
    "pandas' table": (FRAME.to_json(orient="table"), "counts the rows: left out"),
    "rows under questions": (json.dumps({"questions": RECORDS}), "under the key 'questions'"),
    "nan": ("".join(json.dumps({**r, "far": float("nan")}) + "\n" for r in RECORDS), ""),
    "lists by column": (json.dumps(FRAME.to_dict("list")), "by columns"),
    "utf-32": (PLAIN.encode("utf-32"), "UTF-32"),
    "xlsx of other words": (
        xlsx(FRAME.rename(columns={"answer": "Correct answer", "near": "Foil"}), index=False),
        "Correct answer is taken as answer, Foil as near"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ALSO_READ)
def test_further_kinds_are_read(tmp_path, kind):
    content, words = ALSO_READ[kind]
    path = tmp_path / "my.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert facts(path) == FACTS
    assert words in notes(path)


ALSO_REFUSED = {
    "lines of json with commas": (
        "".join(json.dumps(r) + ",\n" for r in RECORDS), "line 1: a comma between two values"
    ),
    "rows of a benchmark folder": (
        json.dumps({"question": "A?", "gold": "b", "near": "c", "tool": {}, "review": "pass"}),
        "use benchmark=folder",
    ),
    "a backslash before quotes": (
        f'{HEADER}\n"Who wrote \\"Sult\\"?",Otto,Karl\n', 'a quote in the text is written ""'
    ),
    "separators of two kinds": (
        f"{HEADER}\nWho ran it?;Otto;Karl\n", "it has a semicolon where the header has another"
    ),
    "typographic quotes round a comma": (
        f"{HEADER}\n“Who, then?”,Otto,Karl\nA?,b,c\n", "typographic quotes hold no cell together"
    ),
    "shift-jis": (
        PLAIN.replace("Otto Lind", "夏目漱石という人").encode("shift_jis"), "shift_jis: '夏目漱石"
    ),
    "no header": (PLAIN.partition("\n")[2], "column 'question' is missing: the header is Who ran"),
    "a locked workbook": (bytes.fromhex("d0cf11e0a1b11ae1"), "an old or a locked workbook"),
    "a pickle": (b"\x80\x04\x95\x00", "a pickle, which is never read"),
    "half a character": ('{"question": "A\\ud83d?", "answer": "b"}', "half a character"),
    "infinity": ('{"question": "A?", "answer": Infinity}', "Infinity is no JSON number"),
    "nested without end": ('{"question": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ALSO_REFUSED)
def test_further_kinds_are_refused_with_the_remedy(tmp_path, kind):
    content, words = ALSO_REFUSED[kind]
    path = tmp_path / "my.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as refused:
        facts(path)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_spaces_before_quotes_are_passed_over_where_a_comma_needs_the_quotes(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(f'{HEADER}\n"Who ran it?", "Lind, Otto", "Karl"\n"Who?", "Per", "Nils"\n')
    assert [fact[1] for fact in facts(path)] == ["Lind, Otto", "Per"]
    assert "spaces in front of quotes are passed over" in notes(path)
    # Without such a comma these quotes have always been part of the text.
    path.write_text(f'{HEADER}\n"Who ran it?", "Otto", Karl\n')
    assert facts(path)[0][1] == '"Otto"'
    assert "1 cell starts with a space and a quote (row 2)" in notes(path)


def test_a_word_that_was_saved_in_two_encodings_is_named(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(PLAIN.replace("Otto", "Jörg".encode().decode("cp1252")))
    assert facts(path)[0][1] == "JÃ¶rg Lind"
    assert "'JÃ¶rg' (line 2) seems to have been 'Jörg'" in notes(path)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path_factory, data):
    starts = (
        b"",
        HEADER.encode() + b"\n",
        b"PK\x03\x04",
        b"PAR1",
        b"\x1f\x8b\x08\x00",
        b"[{",
        b"\xff\xfe",
    )
    for number, start in enumerate(starts):
        path = tmp_path_factory.mktemp("any") / f"{number}.csv"
        path.write_bytes(start + data)
        try:
            facts(path)
        except UserError as error:
            assert "\n" not in str(error) and "\r" not in str(error)
