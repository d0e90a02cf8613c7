"""What tests share: made-up runs and machines, fakes, faulty backends, and the doors opened."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
