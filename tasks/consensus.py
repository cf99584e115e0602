"""Consensus: what two judges by models and the deterministic one make of a pool that is easily confused.

Two of three that name the same skills settle it. A pick that only one model and the deterministic judge name,
or that nobody else names, is marked as unsure and carries the dissent, so that whoever asked can choose.
"""

from __future__ import annotations

from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.judge import shortlist_of, which_question
from pickysteve.tasks.values import Notes, Pick, Pool

__all__ = ["consensus", "is_confusable"]


def is_confusable(pool: Pool, notes: Notes) -> bool:
    """Whether several skills may fit, or the two best of the pool are known to be confused."""
    if len(pool.prediction_set) > 1:
        return True
    if len(pool.options) < 2:
        return False
    first, second = (option.skill_id for option in pool.options[:2])
    edges = {note.skill_id: note.confused_with for note in notes.notes}
    return second in edges.get(first, ()) or first in edges.get(second, ())


def consensus(offline: Pick, judged: Pick, second: Pick, notes: Notes, index: SearchIndex) -> Pick:
    """The pick that two of the three name; where all differ, that of the second model, marked."""
    spent = judged.spent + second.spent
    if _same(judged, second):
        agreed = second if second.low_confidence and not judged.low_confidence else judged
        reasons = (*agreed.reasons, "a second model says the same")
        return agreed.model_copy(update={"reasons": reasons, "spent": spent})
    kept = judged if _same(judged, offline) else second
    other = second if kept is judged else judged
    backed = "the deterministic judge agrees" if _same(kept, offline) else "nobody else names it"
    dissent = f"another model {_named(other)}; {backed}"
    marks = {"reasons": (*kept.reasons, dissent), "spent": spent}
    if kept.status != "ok":
        offered = tuple(dict.fromkeys((*other.skills, *kept.prediction_set)))
        shown = shortlist_of(offered, notes, index)
        return kept.model_copy(update=marks | {"prediction_set": offered, "shortlist": shown})
    named = tuple(dict.fromkeys((*kept.skills, *other.skills, *kept.prediction_set)))
    several = len(named) > len(kept.skills)
    return kept.model_copy(
        update=marks
        | {
            "low_confidence": True,
            "prediction_set": named,
            "ambiguous": several,
            "question": which_question(named) if several else "",
            "shortlist": shortlist_of(named, notes, index) if several else {},
        }
    )


def _same(one: Pick, other: Pick) -> bool:
    return (one.status, set(one.skills)) == (other.status, set(other.skills))


def _named(pick: Pick) -> str:
    return f"names {' and '.join(pick.skills)}" if pick.skills else "finds that none fits"
