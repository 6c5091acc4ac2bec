import pytest

from memtoc.benchmark.kinds import kind_of


@pytest.mark.parametrize(
    ("gold", "roots", "kind"),
    [
        ("1999", (), "year"), ("999", (), "number"), ("2100", (), "number"),
        ("1,200.5", (), "number"), ("45%", (), "number"), ("America/New_York", (), "timezone"),
        ("AC/DC", (), "other_string"), ("Ada", ("Q5",), "person"),
        ("Paris", ("Q43229", "Q486972"), "place"), ("NASA", ("Q43229",), "organization"),
        ("Dune", ("Q386724",), "work"), ("Ada", (), "other_string"),
    ],
)  # fmt: skip
def test_the_kind_is_read_off_the_text_then_off_wikidata_classes(gold, roots, kind):
    assert kind_of(gold, roots) == kind
