#!/usr/bin/env python3
"""Mirrors of repositories on real servers: a sync gives every answer of a server the correct class and
reason, and leaves no files or processes behind.

Arguments: the program, and the program of the unit tests that makes one sync (tests/unit/runtime/mirror/sample.c).
"""
import glob
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import repositories, wait_until  # noqa: E402
from git_server import PASSWORD, RETRY_AFTER_S, USER, GitServer  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from ssh_server import SshServer  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SAMPLE = os.path.abspath(sys.argv[2])


def serve(path, name):
    """Makes a bare copy of the repository in the server's folder, and returns the copy."""
    os.makedirs("srv", exist_ok=True)
    subprocess.run(["git", "clone", "-q", "--mirror", path, f"srv/{name}"], check=True)
    return Repo.at(os.path.abspath(f"srv/{name}"))


def start(address, *words, selection="all"):
    return subprocess.Popen([SAMPLE, os.path.abspath("mirrors"), address, selection, *words], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def sync(address, *words, selection="all"):
    """Makes one sync, and returns the line that the sample program prints."""
    process = start(address, *words, selection=selection)
    out, err = process.communicate(timeout=60)
    equal((process.returncode, err), (0, ""))
    return out.strip()


def mirror(address, *words, selection="all"):
    """Makes one sync, which must succeed. Returns the mirror."""
    line = sync(address, *words, selection=selection)
    holds(line.startswith("ok "), line)
    return Repo.at(line[3:])


def credentials(host, **settings):
    with open("credentials", "w") as file:
        file.write(f"[{host}]\n" + "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in settings.items()))
    os.chmod("credentials", 0o600)
    return f"credentials={os.path.abspath('credentials')}"


def refs(repo):
    return repo.git("for-each-ref", "--format=%(objectname) %(refname)")


def left_over():
    """Returns what earlier syncs left in the folder of the mirrors: files that are not part of a complete
    mirror or its lock, and git processes that still use the folder."""
    files = [path for path in glob.glob("mirrors/*/*", recursive=True) if not path.endswith((".git", ".lock"))]
    files += [path for path in glob.glob("mirrors/**", recursive=True) if "tmp_" in path or ".git/" in path and path.endswith(".lock")]
    files += [lock for lock in glob.glob("mirrors/*/*.lock") if not os.path.exists(lock[:-5] + ".git")]
    here = os.path.abspath("mirrors").encode()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read()
        except OSError:
            continue
        if here in words and b"git\0" in words:
            files.append(words.decode(errors="replace"))
    return files


@test
def a_mirror_is_equal_to_its_origin_and_stays_so():
    origin = serve(repositories("work", 3)[2], "r.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        copy = mirror(f"{server.url}/git/r.git", ca)
        equal(refs(copy), refs(origin))
        equal(mirror(f"{server.url}/git/r.git", ca).path, copy.path, "the place of a mirror")
        # The origin gets a force-push, a deleted ref, a ref in place of a folder of refs, and another default
        # branch.
        origin.git("update-ref", "refs/heads/main", "refs/heads/main~1")
        origin.git("update-ref", "refs/heads/deep/er", "refs/heads/main")
        equal(refs(mirror(f"{server.url}/git/r.git", ca)), refs(origin))
        origin.git("update-ref", "-d", "refs/heads/deep/er")
        origin.git("update-ref", "refs/heads/deep", "refs/heads/main")
        origin.git("branch", "-m", "main", "trunk")
        copy = mirror(f"{server.url}/git/r.git", ca)
        equal(refs(copy), refs(origin))
        equal(copy.git("symbolic-ref", "HEAD"), "refs/heads/trunk")
        copy.git("fsck", "--strict")
    equal(left_over(), [])


@test
def without_news_one_request_is_enough():
    serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        mirror(f"{server.url}/git/r.git", ca)
        before = len(server.asked)
        mirror(f"{server.url}/git/r.git", ca)
        equal(len(server.asked) - before, 2, "one for the capabilities, one for the refs")


@test
def selections_fetch_what_they_need():
    repo = Repo("work")
    repo.write("a", "a")
    first = repo.commit()
    repo.git("checkout", "-q", "-b", "side")
    repo.write("b", "b")
    side = repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("tag", "v1", first)
    origin = serve("work", "r.git")
    with GitServer("srv") as server:
        address, ca = f"{server.url}/git/r.git", credentials(server.host, ca=server.ca)
        equal(refs(mirror(address, ca, selection="default")), f"{first} refs/heads/main")
        equal(refs(mirror(address, ca, selection="refs:s*,refs/tags/v1")), f"{side} refs/heads/side\n{first} refs/tags/v1")
        equal(refs(mirror(address, ca, selection=f"commits:{side}")), f"{side} refs/turnstone/commits/{side}")
        equal(sync(address, ca, selection=f"commits:{'1' * 40}"), "permanent selection_not_found 0")
        origin.git("symbolic-ref", "HEAD", "refs/heads/side")
        equal(refs(mirror(address, ca, selection="default")), f"{side} refs/heads/side")
        origin.git("tag", "-d", "v1")
        equal(refs(mirror(address, ca, selection="refs:s*,refs/tags/v*")), f"{side} refs/heads/side")
        origin.git("update-ref", "--no-deref", "HEAD", first)
        copy = mirror(address, ca, selection="default")
        equal(refs(copy), f"{first} refs/turnstone/head")
        # HEAD names a branch that does not exist. If the mirror were empty, the target would look clean.
        origin.git("symbolic-ref", "HEAD", "refs/heads/master")
        equal(sync(address, ca, selection="default"), "permanent selection_not_found 0")
        equal(refs(copy), f"{first} refs/turnstone/head")
    equal(left_over(), [])


@test
def empty_sha256_shallow_and_large_origins():
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        Repo("srv/empty.git", "--bare")
        for selection in ("default", "all", "refs:main"):
            equal(refs(mirror(f"{server.url}/git/empty.git", ca, selection=selection)), "")
        wide = Repo("wide", "--object-format=sha256")
        wide.write("a", "a")
        wide.commit()
        wide.git("branch", "Main")  # differs from main only in case
        origin = serve("wide", "wide.git")
        for selection in ("all", "refs:*"):
            copy = mirror(f"{server.url}/git/wide.git", ca, selection=selection)
            equal((refs(copy), copy.git("rev-parse", "--show-object-format")), (refs(origin), "sha256"))
        # Replaces the repository at this address by a repository with another object format.
        os.rename("srv/wide.git", "srv/old.git")
        serve(repositories("work", 2)[1], "wide.git")
        equal(mirror(f"{server.url}/git/wide.git", ca).git("rev-parse", "--show-object-format"), "sha1")
        subprocess.run(["git", "clone", "-q", "--bare", "--depth", "1", f"file://{os.path.abspath('work/repo1')}", "srv/cut.git"], check=True)
        for selection in ("all", "default"):
            copy = mirror(f"{server.url}/git/cut.git", ca, selection=selection)
            equal(copy.git("rev-parse", "--is-shallow-repository"), "true")
        many = Repo.at(os.path.abspath("srv/wide.git"))
        commit = many.git("rev-parse", "main")
        many.git("pack-refs", "--all")
        with open(many.path + "/packed-refs", "a") as file:
            file.write("".join(f"{commit} refs/x/{i:06}\n" for i in range(100000)))
        copy = mirror(f"{server.url}/git/wide.git", ca, "repair")
        equal(refs(copy), refs(many))
        many.git("update-ref", "refs/heads/main", "main~1")
        copy = mirror(f"{server.url}/git/wide.git", ca)
        equal(refs(copy), refs(many))
        copy = mirror(f"{server.url}/git/wide.git", ca, selection="refs:refs/x/001*")
        equal((refs(copy).count("\n"), glob.glob(copy.path + "/refs/x/*")), (999, []), "one file for all refs")
    equal(left_over(), [])


@test
def an_origin_that_lacks_objects_by_design_is_not_taken_for_a_complete_one():
    source = serve(repositories("work", 1)[0], "r.git")
    source.git("config", "uploadpack.allowFilter", "true")
    subprocess.run(["git", "clone", "-q", "--bare", "--filter=blob:none", f"file://{source.path}", "srv/partial.git"], check=True)
    partial = Repo.at(os.path.abspath("srv/partial.git"))
    partial.git("config", "remote.origin.url", "file:///nowhere")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        equal(sync(f"{server.url}/git/partial.git", ca), "permanent damaged_origin 0")
    equal(left_over(), [])


@test
def every_answer_of_a_server_has_its_class_and_reason():
    serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        for how, line in {
                "gone": "permanent not_found 0", "denied": "permanent permission_denied 0", "moved": "permanent moved 0",
                "tofile": "permanent moved 0", "toext": "permanent moved 0",
                "broken": "retryable unreachable 0", "throttled": "retryable rate_limited 3600000", "hang": "retryable timed_out 0",
                "trickle": "retryable timed_out 0", "endless": "permanent too_large 0", "cut": "retryable broken_off 0",
                "unlawful": "permanent permission_denied 0", "late": "retryable timed_out 0", "page": "permanent not_found 0",
                "blank": "permanent not_found 0", "claims": "retryable unclassified 0", "auth": "permanent credentials_missing 0"}.items():
            equal(sync(f"{server.url}/{how}/r.git", ca, "stall=1", "max=1000000"), line, how)
            equal(left_over(), [], how)
        equal([how for how, _, _ in server.asked if how == "git"], [], "a redirect was followed")
        holds(not os.path.exists("pwned"), "a command was run")
        equal(sync(f"{server.url}/hang/r.git", ca, "timeout=1"), "retryable timed_out 0")
        equal(sync(f"{server.url}/bomb/r.git", ca, f"memory={64 << 20}"), "permanent needs_memory 0")
        equal(sync(f"{server.url}/limited/r.git", ca), f"retryable rate_limited {RETRY_AFTER_S * 1000}")
        equal(sync(f"{server.url}/git/r.git"), "permanent untrusted_host 0")
        address = server.url
    equal(sync(f"{address}/git/r.git", ca), "retryable unreachable 0")
    equal(left_over(), [])


@test
def an_answer_without_git_is_not_taken_for_an_empty_repository():
    """Such an answer is, for example, a login page with status 200. The mirror must keep its refs: without
    them, the target would lose its findings."""
    serve(repositories("work", 1)[0], "r.git")
    empty = Repo("srv/empty.git", "--bare")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        origin = f"{server.url}/git/r.git"
        known = refs(mirror(origin, ca))
        holds(known != "", "refs")
        for how in ("blank", "page"):
            server.server.instead = how
            for selection in ("all", "default"):
                equal(sync(origin, ca, selection=selection), "permanent not_found 0", how)
        server.server.instead = None
        equal(refs(mirror(origin, ca)), known)
        equal(refs(mirror(f"{server.url}/git/empty.git", ca)), refs(empty))


@test
def many_small_files_are_too_large_before_all_have_arrived():
    origin = Repo("srv/r.git", "--bare")
    objects = [origin.git("hash-object", "-w", "--stdin", stdin="".join(f"{i} {n * n}\n" for n in range(1000))) for i in range(300)]
    tree = origin.git("mktree", stdin="".join(f"100644 blob {one}\tf{one}\n" for one in objects))
    origin.git("update-ref", "refs/heads/main", origin.git("commit-tree", "-m", "x", tree))
    origin.git("update-server-info")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        equal(sync(f"{server.url}/dumb/r.git", ca, "max=20000"), "permanent too_large 0")
        holds(10 < len(server.asked) < 250, len(server.asked))
        equal(left_over(), [])
        equal(refs(mirror(f"{server.url}/dumb/r.git", ca)), refs(origin))
    equal(left_over(), [])


@test
def addresses_that_git_would_obey_are_refused():
    serve(repositories("work", 1)[0], "r.git")
    for address in ("ext::sh -c 'touch pwned'", "--upload-pack=touch pwned", "https://ada:word@localhost/r.git", "https://token@localhost/r.git"):
        holds(sync(address).startswith("refused: "), address)
    for address in ("http://localhost:1/r.git", "git://localhost:1/r.git"):
        equal(sync(address), "permanent unsupported_protocol 0")
    equal(sync("http://localhost:1/r.git", "protocols=https:http"), "retryable unreachable 0")
    holds(not os.path.exists("pwned"), "a command was run")


@test
def a_password_comes_from_the_file_and_is_nowhere_else():
    serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        with open("password", "w") as file:
            file.write(PASSWORD + "\n")
        os.chmod("password", 0o644)
        given = credentials(server.host, ca=server.ca, user=USER, password_file=os.path.abspath("password"))
        equal(sync(f"{server.url}/auth/r.git", given), "own credentials_file", "others can read the password")
        os.chmod("password", 0o600)
        for settings in ({"password": PASSWORD}, {"password_file": os.path.abspath("password")}):
            given = credentials(server.host, ca=server.ca, user=USER, **settings)
            process = start(f"{server.url}/auth/r.git", given)
            seen = set()
            while process.poll() is None and not seen & {b"ready"}:
                for path in glob.glob("/proc/[0-9]*/cmdline"):
                    try:
                        with open(path, "rb") as file:
                            seen.update(file.read().split(b"\0"))
                    except OSError:
                        continue
                if glob.glob("mirrors/*/*.git"):
                    seen.add(b"ready")
            out, _ = process.communicate(timeout=60)
            holds(out.startswith("ok "), out)
            equal([word for word in seen if PASSWORD.encode() in word], [])
            holds(any(b"ls-remote" in word for word in seen), "git was not seen")
            found = subprocess.run(["grep", "-rlF", PASSWORD, "mirrors"], stdout=subprocess.PIPE, text=True, check=False).stdout
            equal(found, "")
            subprocess.run(["rm", "-rf", "mirrors"], check=True)
        given = credentials(server.host, ca=server.ca, user=USER, password="wrong")
        equal(sync(f"{server.url}/auth/r.git", given), "permanent authentication_failed 0")
        # The program does not send credentials whose entry is for another host.
        given = credentials("other.example", user=USER, password=PASSWORD, ca=server.ca)
        equal(sync(f"{server.url}/auth/r.git", given), "permanent untrusted_host 0")
        given = credentials(server.host, ca=server.ca, user=USER, password_file="/nowhere")
        equal(sync(f"{server.url}/auth/r.git", given), "own credentials_file")
        os.chmod("credentials", 0o644)
        equal(sync(f"{server.url}/auth/r.git", given), "own credentials_file")
    equal(left_over(), [])


@test
def a_file_that_this_machine_lacks_is_its_own_fault():
    """If the repository were blamed, a worker that lacks its key would park every repository of the host."""
    for address in ("https://localhost:1/r.git", "ssh://git@localhost:1/r.git"):
        for name in ("ca", "ssh_key", "known_hosts"):
            equal(sync(address, credentials("localhost:1", **{name: "/nobody/has/this"})), "own credentials_file", name)
        equal(sync(address, credentials("localhost:2", ca="/nobody/has/this")), "retryable unreachable 0", "another host")


@test
def a_damaged_mirror_is_made_again():
    origin = serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        address, ca = f"{server.url}/git/r.git", credentials(server.host, ca=server.ca)
        copy = mirror(address, ca)
        for pack in glob.glob(copy.path + "/objects/pack/*.pack"):
            os.chmod(pack, 0o600)
            with open(pack, "r+b") as file:
                file.seek(60)
                file.write(b"damage" * 5)
        holds(copy.git("fsck", check=False) is not None, "")
        equal(sync(address, ca, "repair"), f"ok {copy.path}")
        copy.git("fsck", "--strict")
        # If a mirror is no longer a repository, a sync makes a new one, even without the word "repair".
        os.unlink(copy.path + "/config")
        os.unlink(copy.path + "/HEAD")
        equal(refs(mirror(address, ca)), refs(origin))
        # If git cannot write to the mirror, the reason is mirror_damaged, not a failure of the origin.
        subprocess.run(["rm", "-rf", copy.path + "/objects/pack"], check=True)
        origin.git("update-ref", "refs/heads/more", "refs/heads/main~1")
        equal(sync(address, ca), "retryable mirror_damaged 0")
        equal(refs(mirror(address, ca, "repair")), refs(origin))
    equal(left_over(), [])


@test
def damage_at_any_place_is_never_taken_for_a_broken_transfer():
    """If the transfer were blamed, no try would repair the mirror, and the target would be parked."""
    work = Repo("work")
    work.write("a", "".join(f"line {n}: {n * n % 9973}\n" for n in range(40)))
    work.commit("first")
    origin = serve("work", "r.git")
    with GitServer("srv") as server:
        address, ca = f"{server.url}/git/r.git", credentials(server.host, ca=server.ca)
        copy = mirror(address, ca)
        subprocess.run(["cp", "-r", copy.path, "intact"], check=True)
        # The new content is similar to content in the mirror, so git fetches it as a delta of that content.
        work.write("a", "".join(f"line {n}: {n * n % 9973}\n" for n in range(41)))
        work.commit("second")
        origin.git("fetch", "-q", os.path.abspath("work"), "+refs/heads/*:refs/heads/*")
        found = set()
        for name in ("packed-refs", *(path.removeprefix("intact/") for path in glob.glob("intact/objects/pack/*"))):
            size = os.path.getsize(f"intact/{name}")
            for at in range(0, size, 16 if name.endswith(".pack") else max(64, size // 8)):
                subprocess.run(["rm", "-rf", copy.path], check=True)
                subprocess.run(["cp", "-r", "intact", copy.path], check=True)
                os.chmod(f"{copy.path}/{name}", 0o600)
                with open(f"{copy.path}/{name}", "r+b") as file:
                    file.seek(at)
                    file.write(bytes(min(64, size - at)))
                line = sync(address, ca)
                holds(line in (f"ok {copy.path}", "retryable mirror_damaged 0"), (name, at, line))
                found.add(line)
        equal(len(found), 2, found)
        equal(refs(mirror(address, ca, "repair")), refs(origin))
    equal(left_over(), [])


@test
def a_killed_worker_leaves_nothing_that_the_next_one_trips_over():
    origin = serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        for address in (f"{server.url}/hang/r.git", f"{server.url}/endless/r.git"):
            process = start(address, ca)
            asked = len(server.asked)
            wait_until(lambda n=asked: len(server.asked) > n)
            process.kill()
            process.communicate()
            wait_until(lambda: not any("ls-remote" in one or "clone" in one for one in left_over()))
        # No sync uses the mirrors of these addresses again. They take space, so the sync of another address
        # removes them.
        copy = mirror(f"{server.url}/git/r.git", ca)
        equal(sorted(glob.glob("mirrors/*/*")), sorted([os.path.relpath(copy.path), os.path.relpath(copy.path)[:-4] + ".lock"]))
        # A killed fetch leaves such temporary files and locks in the mirror.
        for name in ("packed-refs.lock", "objects/pack/tmp_pack_1", "refs/heads/main.lock", "HEAD.lock"):
            with open(os.path.join(copy.path, name), "w") as file:
                file.write("left")
        with open(copy.path[:-4] + ".lock", "w") as file:
            file.write("busy\n")
        origin.git("update-ref", "refs/heads/main", "refs/heads/main~1")
        equal(refs(mirror(f"{server.url}/git/r.git", ca)), refs(origin))
        equal([name for name in left_over() if copy.path in os.path.abspath(name)], [])


@test
def a_stop_ends_a_sync_at_once():
    serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        process = start(f"{server.url}/hang/r.git", ca)
        wait_until(lambda: server.asked)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        equal(out, "stopped\n")
    equal(left_over(), [])


@test
def two_workers_on_one_machine_do_not_wait_for_each_other():
    serve(repositories("work", 1)[0], "r.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        holders, paths = [], []
        for _ in range(4):
            holders.append(start(f"{server.url}/git/r.git", ca))
            paths.append(holders[-1].stdout.readline())
        equal([path.split(".")[-2] for path in paths], ["0", "1", "2", "3"])
        equal(sync(f"{server.url}/git/r.git", ca), "retryable mirror_busy 0")
        holders[1].communicate()
        equal(sync(f"{server.url}/git/r.git", ca) + "\n", paths[1])
        for holder in holders[:1] + holders[2:]:
            holder.communicate()
        equal(sync(f"{server.url}/git/r.git", ca) + "\n", paths[0])
    equal(left_over(), [])


@test
def a_quota_evicts_what_was_used_longest_ago_and_is_not_locked():
    for i, path in enumerate(repositories("work", 4)):
        serve(path, f"r{i}.git")
    with GitServer("srv") as server:
        ca = credentials(server.host, ca=server.ca)
        holder = start(f"{server.url}/git/r0.git", ca)
        held = holder.stdout.readline().split()[1]
        paths = [held] + [mirror(f"{server.url}/git/r{i}.git", ca).path for i in (1, 2)]
        for age, path in enumerate(paths):
            os.utime(path[:-4] + ".lock", (1000 + age, 1000 + age))
        size = sum(int(open(path[:-4] + ".lock").read()) for path in paths)
        paths.append(mirror(f"{server.url}/git/r3.git", ca, f"quota={size}").path)
        # The oldest mirror is in use, so the sync removes the next one.
        equal([os.path.exists(path) for path in paths], [True, False, True, True])
        holder.communicate()
        mirror(f"{server.url}/git/r3.git", ca, "quota=1")
        equal([os.path.exists(path) for path in paths], [False, False, False, True])
    equal(left_over(), [])


@test
def ssh_uses_only_the_keys_of_the_file():
    origin = serve(repositories("work", 1)[0], "r.git")
    with SshServer() as server:
        address, host = server.address("srv/r.git"), f"localhost:{server.port}"
        given = credentials(host, ssh_key=server.key, known_hosts=server.known_hosts)
        equal(refs(mirror(address, given)), refs(origin))
        equal(sync(server.address("srv/none.git"), given), "permanent not_found 0")
        given = credentials(host, ssh_key=server.other_key, known_hosts=server.known_hosts)
        equal(sync(address, given), "permanent authentication_failed 0")
        equal(sync(address, credentials(host, known_hosts=server.known_hosts)), "permanent credentials_missing 0")
        equal(sync(address, credentials(host, ssh_key=server.key)), "permanent untrusted_host 0")
        given = credentials(host, ssh_key=server.key, known_hosts=server.known_hosts)
    equal(sync(address, given), "retryable unreachable 0")
    equal(left_over(), [])


@test
def a_server_behind_ssh_that_hangs_is_slow():
    serve(repositories("work", 1)[0], "r.git")
    with SshServer(hangs=True) as server:
        given = credentials(f"localhost:{server.port}", ssh_key=server.key, known_hosts=server.known_hosts)
        equal(sync(server.address("srv/r.git"), given, "stall=2"), "retryable timed_out 0")
    equal(left_over(), [])


@test
def a_server_behind_ssh_cannot_make_this_machine_look_faulty():
    serve(repositories("work", 1)[0], "r.git")
    with SshServer(banner="fatal: No space left on device") as server:
        given = credentials(f"localhost:{server.port}", ssh_key=server.key, known_hosts=server.known_hosts)
        equal(sync(server.address("srv/none.git"), given), "permanent not_found 0")


main()
