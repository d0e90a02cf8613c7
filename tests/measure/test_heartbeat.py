import subprocess
import sys
import time
from pathlib import Path

from harness.measure.protocol import IDLE, SETUP, Heartbeat

MARKER = """
import sys, time
from pathlib import Path
from harness.measure.protocol import Heartbeat
heartbeat = Heartbeat(Path(sys.argv[1]))
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for index in range(1, 6):
        heartbeat.mark(index)
"""


def test_a_mark_is_read_by_another_process(tmp_path: Path) -> None:
    writer, reader = Heartbeat(tmp_path / "heartbeat"), Heartbeat(tmp_path / "heartbeat")
    assert reader.read()[0] == IDLE
    writer.mark(SETUP)
    time.sleep(0.05)
    index, elapsed = reader.read()
    assert index == SETUP
    assert 0.05 <= elapsed < 5


def test_a_reader_never_sees_half_a_mark(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path / "heartbeat")
    process = subprocess.Popen([sys.executable, "-c", MARKER, str(tmp_path / "heartbeat")])
    seen = set()
    while process.poll() is None:
        index, elapsed = heartbeat.read()
        seen.add(index)
        assert elapsed < 30, "the time of the mark was read while it was written"
    assert seen <= {IDLE, 1, 2, 3, 4, 5}
    assert len(seen) > 1
