"""A hub that leaves a team, and one that is put out of it."""

from __future__ import annotations

from tests.team.hosts import NAMESPACE, Host, heard, until


def test_who_leaves_is_no_member_and_holds_nothing(team: tuple[Host, Host]) -> None:
    """The owner is told, and does not wait for leases of a hub that is gone."""
    a, b = team
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    left = b.synapse("team", "leave")
    assert left.code == 0 and "could not be told" not in left.text
    assert "hold login there no more, and a may" in left.text
    assert b.synapse("status", "--json").json()["claims"] == []
    (entry,) = a.synapse("team", "status", "--json").json()["namespaces"]
    assert entry["members"] == []
    assert "taken away from b/ben, since b left the team" in a.synapse("log").out
    (row,) = [line for line in a.synapse("status").out.splitlines() if line.startswith("login")]
    assert ", taken away" in row and a.synapse("status", "--json").json()["claims"][0]["status"] == "revoked"
    a.done("synapse-git", "claim", "docs", "-t", "words", agent="ana")
    assert "words" in a.synapse("team", "leave", NAMESPACE).out
    told = a.synapse("inbox", agent="ana").out
    assert f"(docs) was taken away from you, since a left the team of {NAMESPACE}" in told


def test_who_is_removed_may_ask_no_more(team: tuple[Host, Host]) -> None:
    """Its claims end, as their holders hear, and its requests are refused; and so is a name that is no member's."""
    a, b = team
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    assert "team status" in a.synapse("team", "remove", NAMESPACE, "nobody").text
    removed = a.synapse("team", "remove", NAMESPACE, "b")
    assert removed.code == 0 and "free for others in a minute: login" in removed.out
    heard(b)
    until(lambda: "nothing is claimed" in b.synapse("status").out)
    told = b.synapse("inbox", agent="ben").out
    assert "task login (src/a.py) is not yours any more, says a" in told
    refused = b.synapse("claim", "docs", "--json", agent="ben").json()
    assert refused["reason"] == "NOT_AUTHORISED" and "team join" in refused["fix"]
    assert b.commit("docs/guide.md", "ben").code == 1


def test_an_owner_that_is_away_is_left_all_the_same(team: tuple[Host, Host]) -> None:
    """And who leaves is told what the owner still believes."""
    a, b = team
    a.stop_hub()
    left = b.synapse("team", "leave", NAMESPACE)
    assert left.code == 0 and f"team remove {NAMESPACE}" in left.text
    assert b.synapse("team", "status", "--json").json()["namespaces"] == []
    assert "in no team" in b.synapse("team", "leave").err
