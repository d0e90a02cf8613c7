import subprocess
import sys
import time
from pathlib import Path

from harness.measure.protocol import IDLE, SETUP, Beacon

MARKER = """
import sys, time
from pathlib import Path
from harness.measure.protocol import Beacon
beacon = Beacon(Path(sys.argv[1]))
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for index in range(1, 6):
        beacon.mark(index)
"""


def test_a_mark_is_read_by_another_process(tmp_path: Path) -> None:
    writer, reader = Beacon(tmp_path / "beacon"), Beacon(tmp_path / "beacon")
    assert reader.read()[0] == IDLE
    writer.mark(SETUP)
    time.sleep(0.05)
    index, elapsed = reader.read()
    assert index == SETUP
    assert 0.05 <= elapsed < 5


def test_a_reader_never_sees_half_a_mark(tmp_path: Path) -> None:
    beacon = Beacon(tmp_path / "beacon")
    process = subprocess.Popen([sys.executable, "-c", MARKER, str(tmp_path / "beacon")])
    seen = set()
    while process.poll() is None:
        index, elapsed = beacon.read()
        seen.add(index)
        assert elapsed < 30, "the time of the mark was read while it was written"
    assert seen <= {IDLE, 1, 2, 3, 4, 5}
    assert len(seen) > 1
