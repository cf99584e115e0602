"""The Prefect flow that fits the embedded calibration anew, with its figures as an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from pickysteve.calibration.fitted import EMBEDDED, Fitted, write_fitted
from pickysteve.flows.accepted import new_accepted_file
from pickysteve.flows.calibrate import calibrate
from pickysteve.flows.gate_corpora import repository_root
from pickysteve.flows.pairs import load_pairs
from pickysteve.flows.scenes import load_splits
from pickysteve.tasks.engines.embedder import MiniLM

__all__ = ["calibrate_flow"]


@flow(name="calibrate", persist_result=False)
def calibrate_flow(datasets: str | None = None, out: str | None = None) -> State[Any]:
    """Fit on the fit split, choose thresholds on the calibrate split, and write the fitted file.

    Args:
        datasets: Folder of the splits; the checkout's when left out.
        out: The file to write; by default the one that this checkout uses.
    """
    encoder = MiniLM()
    folder = Path(datasets) if datasets else repository_root() / "datasets"
    target = Path(out) if out else new_accepted_file(EMBEDDED.name)
    fitted = calibrate(*load_splits(folder, encoder), encoder, pairs=load_pairs(folder, encoder))
    write_fitted(fitted, target)
    _publish(fitted)
    return Completed(message=f"floor {fitted.floor}, written to {target}", data=str(target))


def _publish(fitted: Fitted) -> None:
    rows = [{"figure": name.replace("_", " "), "value": str(value)} for name, value in fitted.report.items()]
    about = f"Calibration for {fitted.encoder}, scoring {fitted.scoring}: figures of the calibrate split"
    create_table_artifact(key="calibration", table=rows, description=about)
