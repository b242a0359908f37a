"""What a word of the command line names: a file, a folder, or a repository of the Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ullage.findings import UsageError
from ullage.importers.beside import CONFIG
from ullage.importers.hub import REPOSITORY, HubStore
from ullage.importers.stores import Folder, Store
from ullage.textfiles import shown_path

_CACHED = re.compile(r"models--(.+?)--(.+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Located:
    """Where files are. ``entry`` is the one that was named, or "" where all were.

    ``name`` is what a catalog would call them, ``cited`` how a source names them, ``revision`` the
    commit that they are of, where that is known.
    """

    store: Store
    entry: str
    name: str
    cited: str
    revision: str | None = None


def locate(word: str, *, on_hub: bool = True) -> Located:
    """The files that a word names; a path that is there is never taken for a repository.

    Raises UsageError where there are none.
    """
    path = Path(word)
    try:
        if word and path.is_dir():
            return _of_folder(path)
        if word and path.exists():
            return _of_file(path)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read `{shown_path(path)}`: {said}") from error
    match = REPOSITORY.fullmatch(word) if on_hub else None
    if match is None:
        kinds = "a file, a folder or a repository, as `owner/name`" if on_hub else "a file"
        raise UsageError(f"no file or folder `{word}`", f"name {kinds}")
    repository, revision = match.groups()
    store = HubStore.of(repository, revision)
    cited = f"{repository} at {store.revision}"
    return Located(store, "", repository.partition("/")[2], cited, store.revision)


def _of_folder(path: Path, entry: str = "") -> Located:
    whole = path.resolve()
    cached = _CACHED.fullmatch(whole.parent.parent.name)
    if whole.parent.name == "snapshots" and cached and _COMMIT.fullmatch(whole.name):
        # A folder of the cache that Hub clients keep.
        owner, name = cached.groups()
        cited = f"{owner}/{name} at {whole.name}"
        return Located(Folder(path), entry, name, cited, whole.name)
    name = shown_path(Path(whole.name)) if whole.name else "checkpoint"
    return Located(Folder(path), entry, name, name)


def _of_file(path: Path) -> Located:
    folder = _of_folder(path.parent, path.name)
    if path.name == CONFIG or path.name.endswith(".index.json"):
        return folder
    stem = re.sub(r"-[0-9]{5}-of-[0-9]{5}\Z", "", shown_path(Path(path.stem)))
    cited = shown_path(Path(path.name))
    if folder.revision:
        cited += f" of {folder.cited}"
    return Located(folder.store, path.name, stem, cited, folder.revision)
