"""Whether a run that goes on finds what it began with: its prompts, and its machine."""

from __future__ import annotations

from mckean.errors import StorageFailure
from mckean.runs.configuration.config import Config
from mckean.runs.execution.journal import Journal
from mckean.runs.machine import environment
from mckean.runs.store import manifest as manifests


def require_same_data(manifest: manifests.Manifest, data_hash: str, name: str) -> None:
    """Refuse other prompts than the run began with."""
    if manifest["data_hash"] != data_hash:
        raise StorageFailure(
            f'A run goes on with the prompts that it began with; the content of "{name}" has changed since: '
            "bring the old file back, or start a new run."
        )


def content_hash(config: Config) -> str:
    """The hash of the prompts that a configuration names now."""
    from mckean.runs.assembly.assemble import prompts_of

    return prompts_of(config).content_hash()


def compare_environment(journal: Journal) -> None:
    """Other versions or another device can give other bits: that is said, not refused."""
    now = environment.describe()
    keys = ("versions", "device", "xla_flags", "threads", "python", "mckean")
    odd = [key for key in keys if journal.manifest.get(key) != now[key]]
    if odd:
        journal.warn(f"This process differs from the one that began the run in {', '.join(odd)}; the bits may differ too.")
