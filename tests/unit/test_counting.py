from scylla_gha.counting import counted


def test_a_number_has_its_noun() -> None:
    assert [counted(each, "trial") for each in (0, 1, 2, 1000)] == ["0 trials", "1 trial", "2 trials", "1,000 trials"]
    assert counted(2, "copy", "copies") == "2 copies"
