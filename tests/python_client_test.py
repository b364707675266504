"""The steps of python_client_test.sh that need Python: python_client_test.py STEP ARGUMENTS..."""

import hashlib
import os
import pathlib
import random
import sys

REPO = "org/name"
SMALLEST_LARGE_FILE = 10 * 1024


def contents(folder):
    folder = pathlib.Path(folder)
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def is_large(content):
    return len(content) >= SMALLEST_LARGE_FILE


def etag(content):
    if is_large(content):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def expect(condition, message):
    if not condition:
        sys.exit(f"python_client_test: {message}")


def make(folder):
    """Makes a dump for downloads only: heads of random bytes, two of them equal, and the small files beside them."""
    folder = pathlib.Path(folder)
    source = random.Random(0)
    for layer in range(5):
        queries = source.randbytes(200_000 + layer)
        keys = queries if layer == 4 else source.randbytes(150_000 + layer)
        for side, content in (("q", queries), ("k", keys)):
            file = folder / f"l{layer:02}h00{side}" / "data.parquet"
            file.parent.mkdir(parents=True)
            file.write_bytes(content)
    for name in ("head_labels.csv", "config.json", "_saver_state.json"):
        (folder / name).write_text(f"{{}} {name}\n")


def snapshot(cache, revision, *patterns):
    from huggingface_hub import snapshot_download

    print(snapshot_download(REPO, repo_type="dataset", revision=revision, cache_dir=cache,
                            allow_patterns=list(patterns) or None))


def file(cache, revision, name):
    from huggingface_hub import hf_hub_download

    print(hf_hub_download(REPO, name, repo_type="dataset", revision=revision, cache_dir=cache))


def scan(cache):
    from huggingface_hub import scan_cache_dir

    warnings = scan_cache_dir(cache).warnings
    expect(not warnings, f"scan_cache_dir warns: {warnings}")


def verify(cache, revision, folder, *left_out):
    """Checks that the cache holds the files except those left out: one blob each, relative links, no partial file."""
    root = pathlib.Path(cache) / ("datasets--" + REPO.replace("/", "--"))
    wanted = {name: content for name, content in contents(folder).items() if name not in left_out}
    commit = (root / "refs" / revision).read_text()
    expect(len(commit) == 40, f"refs/{revision} is {commit!r}")
    links = root / "snapshots" / commit
    found = {str(link.relative_to(links)) for link in links.rglob("*") if not link.is_dir()}
    expect(found == set(wanted), f"the snapshot holds {sorted(found)}")
    for name, content in wanted.items():
        link = links / name
        expect(link.is_symlink(), f"{name} is no link")
        target = os.path.relpath(root / "blobs" / etag(content), link.parent)
        expect(os.readlink(link) == target, f"{name} leads to {os.readlink(link)}, not to {target}")
        expect(link.read_bytes() == content, f"{name} has other bytes")
    blobs = {blob.name for blob in (root / "blobs").iterdir()}
    expect(blobs == {etag(content) for content in wanted.values()}, f"the blobs are {sorted(blobs)}")
    unfinished = [str(entry) for entry in pathlib.Path(cache).rglob("*.incomplete")]
    expect(not unfinished, f"left behind: {unfinished}")


def state(cache):
    """Prints all names in the cache, the targets of links, and the times of blobs."""
    for entry in sorted(pathlib.Path(cache).rglob("*")):
        detail = ""
        if entry.is_symlink():
            detail = os.readlink(entry)
        elif entry.is_file() and ".locks" not in entry.parts:
            detail = entry.stat().st_mtime_ns
        print(entry.relative_to(cache), detail)


def sent_once(log, folder):
    """Checks that the storage sent each large content once, and completely."""
    sizes = {etag(content): len(content) for content in contents(folder).values() if is_large(content)}
    sent = {}
    for line in pathlib.Path(log).read_text().splitlines():
        method, host, target, status, count = line.split(" ")
        if method == "GET" and host == "storage":
            name = target.split("?")[0].rsplit("/", 1)[1]
            sent.setdefault(name, []).append((status, int(count)))
    expect(set(sent) == set(sizes), f"{len(sent)} large files were sent, not {len(sizes)}")
    for name, answers in sent.items():
        expect(answers == [("200", sizes[name])], f"{name} was sent in {answers}")


if __name__ == "__main__":
    {step.__name__: step for step in (make, snapshot, file, scan, verify, state, sent_once)}[sys.argv[1]](*sys.argv[2:])
