"""Sessions of onnxruntime: as many threads as the process may have."""

import pytest

from pickysteve.tasks.engines.embedder import MiniLM
from pickysteve.tasks.engines.onnx_session import open_session


@pytest.mark.parametrize(("given", "threads"), [("1", 1), ("", 0), ("1,2", 0)])
def test_a_process_among_others_takes_the_threads_that_it_was_given(
    encoder: MiniLM, monkeypatch: pytest.MonkeyPatch, given: str, threads: int
) -> None:
    encoder.encode(["exported by now"])
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    session = open_session(str(encoder.folder / "model.onnx"), spinning=False)
    # 0 leaves it to onnxruntime
    assert session.get_session_options().intra_op_num_threads == threads
