"""The real times of reported flow runs, set in the database of Prefect's server.

The server's API stamps the states of a flow run with its own clock and refuses other times (3.9.1: HTTP 422),
so that a run of this morning would be shown as one of now. Task runs come with their times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from uuid import UUID

import sqlalchemy as sa
from prefect.server.database import PrefectDBInterface, provide_database_interface
from prefect.server.database.dependencies import temporary_database_config
from sqlalchemy.exc import SQLAlchemyError

__all__ = ["set_run_times"]


def set_run_times(times: Mapping[UUID, tuple[datetime, datetime]]) -> str:
    """Set start, end and run time of flow runs; returns why not, empty when all were set.

    The database is that of this process's Prefect settings. One of another server holds none of the runs, and
    nothing is changed in it.
    """
    if not times:
        return ""
    # Prefect keeps the first configuration of a process, whatever the settings say later
    with temporary_database_config(None):
        db = provide_database_interface()
    file = sa.make_url(db.database_config.connection_url).database
    if db.dialect.name == "sqlite" and not (file and Path(file).is_file()):
        return "the server's database is not on this machine"
    try:
        found = asyncio.run(_update(db, times))
    except (SQLAlchemyError, OSError) as error:
        return f"the server's database does not take them ({type(error).__name__})"
    return "" if found == len(times) else "the database of this machine is not that of the server"


async def _update(db: PrefectDBInterface, times: Mapping[UUID, tuple[datetime, datetime]]) -> int:
    found = 0
    async with db.session_context(begin_transaction=True) as session:
        for run_id, (began, ended) in times.items():
            result = await session.execute(
                sa.update(db.FlowRun)
                .where(db.FlowRun.id == run_id)
                .values(
                    expected_start_time=began, start_time=began, end_time=ended, total_run_time=ended - began
                )
            )
            found += result.rowcount
    return found
