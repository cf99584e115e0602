"""`pickysteve calibrate`: the fits and thresholds behind a pick, ours and one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, progress_bar, rows_table
from pickysteve.errors import SettingsInvalid

if TYPE_CHECKING:
    from pickysteve.calibration.fitted import Fitted

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the command."""
    app.command("calibrate")(calibrate)


def calibrate(
    datasets: Annotated[Path, typer.Option(help="Folder with the splits fit/ and calibrate/.")] = Path(
        "datasets"
    ),
    registry: Annotated[
        Path | None, typer.Option(help="Folder of your skills; with --suite.", show_default=False)
    ] = None,
    suite: Annotated[
        Path | None, typer.Option(help="Your requests with their gold skills.", show_default=False)
    ] = None,
    weights: Annotated[bool, typer.Option("--weights", help="Fit weights of your own too.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where to write.", show_default=False)] = None,
) -> None:
    """Calibrate the reranker of the settings: on our splits, or on your own registry and suite.

    The embedded reranker is fitted; of a cross-encoder the scale is. A request finds the file by itself
    where it was made on our splits.
    """
    if (registry is None) != (suite is None):
        raise SettingsInvalid("A calibration of your own needs both: pass --registry DIR and --suite FILE.")
    if weights and registry is None:
        raise SettingsInvalid("Weights of your own need your rows: pass --registry DIR and --suite FILE.")
    if registry is not None and suite is not None:
        fitted, target = _own(registry, suite, out, weights=weights)
    else:
        fitted, target = _shared(datasets, out)
    rows = [(name.replace("_", " "), str(value)) for name, value in fitted.report.items()]
    Console(highlight=False).print(rows_table("calibration", ("figure", "value"), rows))
    typer.echo(f"floor {fitted.floor}; written: {target}")
    if not _is_in_use(target):
        typer.echo(f'in use with the setting calibration = "{target}" or PS_CALIBRATION={target}')


def _shared(datasets: Path, out: Path | None) -> tuple[Fitted, Path]:
    """The calibration for the encoder and the reranker of the settings, on our splits."""
    from pickysteve.calibration.fitted import EMBEDDED, write_fitted
    from pickysteve.flows.accepted import new_accepted_file
    from pickysteve.flows.calibrate import calibrate as fit_and_calibrate
    from pickysteve.flows.engines import calibration_file, open_scorer
    from pickysteve.flows.fitting_pairs import calibrate_pairs
    from pickysteve.flows.pairs import load_pairs
    from pickysteve.flows.scenes import load_splits
    from pickysteve.flows.settings import load_settings
    from pickysteve.tasks.engines.embedder import open_encoder

    settings = load_settings()
    encoder, scorer, tell = open_encoder(settings.embed), open_scorer(settings), error_console().print
    held_by = calibration_file(encoder, scorer)
    target = out or (new_accepted_file(EMBEDDED.name) if held_by == EMBEDDED else held_by)
    fit, held = load_splits(datasets, encoder)
    if scorer is None:
        fitted = fit_and_calibrate(fit, held, encoder, tell, load_pairs(datasets, encoder))
    else:
        fitted = calibrate_pairs(fit, held, encoder, scorer, tell)
    write_fitted(fitted, target)
    return fitted, target


def _own(registry: Path, suite: Path, out: Path | None, *, weights: bool) -> tuple[Fitted, Path]:
    from pickysteve.calibration.fitted import read_fitted, write_fitted
    from pickysteve.flows.calibrate_own import calibrate_own, calibrate_own_pairs, own_calibration_file
    from pickysteve.flows.engines import calibration_file, ingest, open_scorer
    from pickysteve.flows.settings import load_settings
    from pickysteve.tasks.engines.embedder import open_encoder
    from pickysteve.tasks.engines.features import SCORING_VERSION

    settings = load_settings(registry=registry)
    encoder, scorer, tell = open_encoder(settings.embed), open_scorer(settings), error_console().print
    if scorer and weights:
        raise SettingsInvalid(
            "--weights are those of the embedded reranker: leave it out, or unset rerank.model."
        )
    with progress_bar("reading the registry") as progress:
        index = ingest(settings, progress=progress).data
    if scorer:
        fitted = calibrate_own_pairs(index, suite, encoder, scorer, tell)
    else:
        path = calibration_file(encoder, None)
        base = read_fitted(path, encoder=encoder.fingerprint, scoring=SCORING_VERSION)
        fitted = calibrate_own(index, suite, encoder, base, weights=weights, progress=tell)
    target = (out or own_calibration_file(registry)).resolve()
    write_fitted(fitted, target)
    return fitted, target


def _is_in_use(target: Path) -> bool:
    """Whether a pick reads this file without being told to: the one beside the code, if it is this one."""
    from pickysteve.calibration.fitted import EMBEDDED

    return target.resolve() == EMBEDDED.resolve()
