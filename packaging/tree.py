"""Trees of files in memory, and archives of such trees. The bytes of an archive depend only on the tree: not
on the time, the user or the order of a folder."""
import gzip
import io
import os
import tarfile


class Tree:
    """A tree of files. `entries` is {path: (mode, contents)}. A path has no leading slash. A folder has the
    contents None. A symbolic link has the mode None, and its target as contents."""

    def __init__(self):
        self.entries = {}

    def file(self, path, content, mode=0o644):
        self.entries[path] = (mode, content.encode() if isinstance(content, str) else content)

    def copy(self, source, path, mode=0o644):
        with open(source, "rb") as file:
            self.file(path, file.read(), mode)

    def link(self, path, target):
        self.entries[path] = (None, target)

    def folder(self, path, mode=0o755):
        self.entries[path] = (mode, None)

    def add(self, other, below=""):
        for path, entry in other.entries.items():
            self.entries[below + path] = entry

    def with_folders(self):
        """Returns all entries, sorted by path, with an entry for each folder that contains another entry."""
        entries = dict(self.entries)
        for path in self.entries:
            while path := os.path.dirname(path):
                entries.setdefault(path, (0o755, None))
        return sorted(entries.items())

    def write(self, root, epoch):
        """Writes the files of the tree below the folder `root`, for tools that read folders."""
        for path, (mode, content) in self.with_folders():
            place = os.path.join(root, path)
            if mode is None:
                os.symlink(content, place)
                continue
            if content is None:
                os.makedirs(place, exist_ok=True)
            else:
                with open(place, "wb") as file:
                    file.write(content)
            os.chmod(place, mode)
        for path, (mode, _) in reversed(self.with_folders()):
            os.utime(os.path.join(root, path), (epoch, epoch), follow_symlinks=False)

    def tar(self, epoch):
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, (mode, content) in self.with_folders():
                entry = tarfile.TarInfo(path)
                entry.mtime = epoch
                if mode is None:
                    entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, content, 0o777
                elif content is None:
                    entry.type, entry.mode = tarfile.DIRTYPE, mode
                else:
                    entry.size, entry.mode = len(content), mode
                archive.addfile(entry, io.BytesIO(content) if entry.isfile() else None)
        return output.getvalue()


def compress(data, level):
    return gzip.compress(data, level, mtime=0)
