"""The file system that a path is on: whether files there can be locked, mapped and shared.

Clusters put home folders on network file systems. SQLite's write-ahead log shares an index in
memory, which two machines cannot; its rollback journal needs locks alone.
"""

import re
from pathlib import Path
from typing import Literal

# Network file systems with locks, by the type that the mount has.
SHARED = re.compile(
    r"(fuse\.)?(nfs4?|lustre|gpfs|cifs|smb[23]|smbfs|beegfs|ceph(-fuse)?|glusterfs|afs|afpfs|panfs"
    r"|orangefs|pvfs2|wekafs|quobyte|juicefs|moosefs|ocfs2|gfs2|9p|virtiofs|vboxsf|drvfs|sshfs)"
)
# Object stores behind a mount: files are written whole, and there are no locks.
OBJECTS = re.compile(
    r"(fuse\.)?(gcsfuse|s3fs|mount-s3|goofys|geesefs|ossfs|rclone|blobfuse2?|davfs2?|webdav)"
)

Sharing = Literal["local", "shared", "objects"]


def type_of(path: Path) -> str:
    """Return the type of the file system that a path is or would be on, e.g. ``ext4``; "" unknown.

    Of two mounts at one place the later one covers the other.
    """
    import psutil

    whole = path.resolve()
    places = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    covering = [place for place in places if whole == place or place in whole.parents]
    return places[max(covering, key=lambda place: len(place.parts))].lower() if covering else ""


def sharing_of(path: Path) -> Sharing:
    """Return whether a path is on this machine's disk, a shared file system, or an object store.

    A type that is on neither list counts as local.
    """
    kind = type_of(path)
    if OBJECTS.fullmatch(kind):
        return "objects"
    return "shared" if SHARED.fullmatch(kind) else "local"
