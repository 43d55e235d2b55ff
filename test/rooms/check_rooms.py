#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks which folder uses which: by the includes of every file, and the symbols of every built object.

rooms.txt lists the allowed uses. The test fails for any other use, for an include with "../" in it, for the include of
another folder's private header, for files that include each other in a circle, and for files of one folder that call
each other in a circle (tests may). For calls, X.c and X.h count as one file: the inline functions of X.h belong to X.c.
It also fails for errors in the list: circles, folders without files, more than five exceptions, unused exceptions.

usage: check_rooms.py SOURCE_DIR BUILD_DIR [--graph]     --graph prints every use, folder to folder
"""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the source tree
from project_files import c_files

EXCEPTIONS_MAX = 5
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)


class Rooms:
    """The contents of rooms.txt: the folders, the folders that each may use, their public headers, the exceptions."""

    def __init__(self, path):
        self.may = collections.OrderedDict()  # folder -> patterns of folders
        self.calls = {}  # folder -> patterns of further folders whose functions it may call
        self.public = {}  # pattern of folders -> names of headers
        self.inside = {}  # folder -> patterns of folders whose private headers it may include
        self.exceptions = {}  # (file, folder) -> [kind, reason, whether the exception is needed]
        self.faults = []
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not self.parse(line.split("#")[0].strip()):
                    self.faults.append(f"{path}:{number}: cannot be understood: {line.strip()}")

    def parse(self, line):
        if not line:
            return True
        kind, _, rest = line.partition(" ")
        left, colon, right = rest.partition(":")
        left = left.strip()
        if not colon:
            return False
        if kind == "room":
            self.may[left] = right.split()
        elif kind == "calls":
            self.calls[left] = right.split()
        elif kind == "public":
            self.public[left] = right.split()
        elif kind == "inside":
            self.inside[left] = right.split()
        elif kind in ("except", "today") and " -> " in left and right.strip():
            user, used = left.split(" -> ")
            self.exceptions[(user.strip(), used.strip())] = [kind, right.strip(), False]
        else:
            return False
        return True

    def of(self, path):
        """Returns the room of a file: the longest listed folder that contains the file."""
        folder = os.path.dirname(path)
        while folder and folder not in self.may:
            folder = os.path.dirname(folder)
        return folder or None

    def allows(self, user, used, call):
        """Returns true if the file `user` may use the room `used`. An exception that allows it is marked needed."""
        room = self.of(user)
        may = self.may[room] + (self.calls.get(room, []) if call else [])
        if room == used or any(fnmatch.fnmatchcase(used, p) for p in may):
            return True
        for exception in ((user, used), (room, used)):
            if exception in self.exceptions:
                self.exceptions[exception][2] = True
                return True
        return False

    def installed(self, source):
        """In lines "public FOLDERS: meson.build", replaces "meson.build" by the headers that FOLDERS/meson.build names.
        For FOLDER/* this is FOLDER/meson.build."""
        for folders, names in self.public.items():
            if names == ["meson.build"]:
                with open(os.path.join(source, folders.removesuffix("/*"), names[0]), encoding="utf-8") as text:
                    self.public[folders] = re.findall(r"'(?:\w+/)*(\w+\.h)'", text.read())

    def shows(self, user, header):
        """Returns true if the file `user` may include that header of another room."""
        room, used = self.of(user), self.of(header)
        for pattern, names in self.public.items():
            if fnmatch.fnmatchcase(used, pattern) and not fnmatch.fnmatchcase(room, pattern):
                inside = any(fnmatch.fnmatchcase(used, p) for p in self.inside.get(room, []))
                return inside or os.path.basename(header) in names
        return True


def circles(graph):
    """Returns the sets of nodes that can reach each other (Tarjan), the smallest set first."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            circle = []
            while not circle or circle[-1] != node:
                circle.append(stack.pop())
            if len(circle) > 1 or node in graph.get(node, ()):
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found, key=len)


def includes(source, files):
    """Returns pairs (file, header of the project), and faults."""
    by_name = collections.defaultdict(list)
    uses, faults = [], []
    for path in files:
        by_name[os.path.basename(path)].append(path)
    for path in files:
        with open(os.path.join(source, path), encoding="utf-8") as text:
            for name in INCLUDE.findall(text.read()):
                if ".." in name.split("/"):
                    faults.append(f"{path} includes {name}: an include names no way through folders")
                    continue
                found = by_name.get(os.path.basename(name), [])
                beside = os.path.join(os.path.dirname(path), name)
                if "/" in name and not name.startswith(("gantry/", "hwq/")):
                    found = []
                if beside in found:
                    found = [beside]
                if len(found) > 1:
                    faults.append(f"{path} includes {name}, which is one of {' '.join(found)}")
                elif found:
                    uses.append((path, found[0]))
    return uses, faults


def symbols(source, build, files):
    """Reads the built objects. Returns {(file, file that defines a symbol that the first file uses): one such symbol},
    {symbol: file that defines it}, and the number of objects."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as text:
        commands = json.load(text)
    objects = {}
    for command in commands:
        path = os.path.relpath(os.path.join(command["directory"], command["file"]), source)
        output = os.path.join(command["directory"], command["output"])
        if path in files and os.path.exists(output):
            objects[output] = path
    lines = subprocess.run(["nm", "-A", "-P", "-g"] + list(objects), check=True, text=True,
        stdout=subprocess.PIPE).stdout.splitlines()
    defined, wanted = collections.defaultdict(set), collections.defaultdict(set)
    for line in lines:
        output, name, kind = re.match(r"(.*): (\S+) (\S)", line).groups()
        if kind == "U":
            wanted[objects[output]].add(name)
        elif kind not in "wvWVu":  # a weak symbol is defined in every file that needs it
            defined[name].add(objects[output])
    # The adapter's library exports its API, which programs may use, and functions with names of libc: a program that
    # calls these means libc's functions. Files of the adapter may not call them, because the calls would reach the
    # adapter's shim.
    with open(os.path.join(source, "drivers/softhca/softhca.map"), encoding="utf-8") as text:
        exported = set(re.findall(r"(\w+);", text.read()))
    uses = {}
    for path, names in wanted.items():
        if not path.startswith("drivers/softhca/"):
            names -= exported
        for name in sorted(names):
            where = defined.get(name, set())
            if path.startswith("drivers/"):  # a test may also define the symbol, in place of the project's function
                where = {w for w in where if w.startswith("drivers/")}
            if len(where) == 1 and path not in where:
                uses.setdefault((path, next(iter(where))), name)
    return uses, {name: next(iter(where)) for name, where in defined.items() if len(where) == 1}, len(objects)


def inline_calls(source, files, owner):
    """Returns {(file, file whose function it calls): one such function}, for the calls that no object shows: calls of
    inline functions, and calls by inline functions."""
    texts, inline, uses = {}, {}, {}
    for path in files:
        with open(os.path.join(source, path), encoding="utf-8") as text:
            texts[path] = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
        if path.endswith(".h"):
            inline.update((name, path) for name in re.findall(r"^static [^;={}]*\n(\w+)\(", texts[path], re.M))
    for path, text in texts.items():
        for name in sorted(set(re.findall(r"\b(\w+)\(", "".join(re.findall(r"^\t.*\n", text, re.M))))):
            other = inline.get(name) or (owner.get(name) if path.endswith(".h") else None)
            if other is not None:
                uses.setdefault((path, other), name)
    return uses


def circles_of_calls(rooms, used):
    """Returns faults: files of one folder that use each other's functions or variables in a circle."""
    graph = collections.defaultdict(set)
    unit = lambda path: f"{rooms.of(path)}/{os.path.splitext(os.path.basename(path))[0]}"
    for user, other in used:
        room = rooms.of(user)
        if room == rooms.of(other) and room.split("/")[0] != "test" and unit(user) != unit(other):
            graph[unit(user)].add(unit(other))
    for circle in circles(graph):
        uses = sorted(f"{os.path.basename(user)} uses {name} of {os.path.basename(other)}"
            for (user, other), name in used.items()
            if unit(user) in circle and unit(other) in circle and unit(user) != unit(other))
        yield f"{os.path.dirname(circle[0])}: {len(circle)} files call each other in a circle: {'; '.join(uses)}"


def main(source, build, show):
    rooms = Rooms(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rooms.txt"))
    rooms.installed(source)
    faults = list(rooms.faults)
    files = list(c_files(source))
    homeless = [f for f in files if rooms.of(f) is None]
    faults += [f"{f} lies in no folder that rooms.txt lists" for f in homeless]
    files = [f for f in files if f not in homeless]
    for room in rooms.may:
        if not any(rooms.of(f) == room for f in files):
            faults.append(f"rooms.txt: {room} holds no file")
    plan = {r: [o for o in rooms.may if o != r and any(fnmatch.fnmatchcase(o, p)
        for p in may + rooms.calls.get(r, []))] for r, may in rooms.may.items()}
    faults += [f"rooms.txt: these may use each other: {' '.join(c)}" for c in circles(plan)]

    included, more = includes(source, files)
    faults += more
    used, owner, n_objects = symbols(source, build, set(files))
    if n_objects == 0:
        faults.append(f"{build} has no built object")
    edges = collections.Counter()
    for kind, pairs in (("include", included), ("symbol", used)):
        for user, other in pairs:
            room, theirs = rooms.of(user), rooms.of(other)
            what = used[(user, other)] + " of " + other if kind == "symbol" else other
            if room != theirs:
                edges[(room, theirs)] += 1
            if not rooms.allows(user, theirs, kind == "symbol"):
                faults.append(f"{user} uses {what}: {room} may not use {theirs}")
            elif kind == "include" and not rooms.shows(user, other):
                faults.append(f"{user} includes {other}, which is not for others")
    graph = collections.defaultdict(set)
    for user, other in included:
        graph[user].add(other)
    faults += [f"these include each other: {' '.join(c)}" for c in circles(graph)]
    faults += circles_of_calls(rooms, {**inline_calls(source, files, owner), **used})

    kept = [e for e, (kind, _, _) in rooms.exceptions.items() if kind == "except"]
    folders = {(rooms.of(user) if user in files else user, used) for user, used in kept}
    if len(folders) > EXCEPTIONS_MAX:
        faults.append(f"rooms.txt: {len(folders)} exceptions, folder to folder: at most {EXCEPTIONS_MAX}")
    faults += [f"rooms.txt: nobody needs the exception {user} -> {other}"
        for (user, other), (kind, _, needed) in rooms.exceptions.items()
        if kind == "except" and not needed]

    if show:
        for (room, theirs), n in sorted(edges.items()):
            print(f"{room} -> {theirs}: {n}")
    for fault in faults:
        print(fault)
    today = sum(kind == "today" for kind, _, _ in rooms.exceptions.values())
    print(f"{len(files)} files, {len(included)} includes, {n_objects} objects, {len(used)} uses of symbols; "
        f"{len(edges)} arrows between {len(rooms.may)} rooms; {len(kept)} exceptions, {today} for today: "
        + (f"{len(faults)} faults" if faults else "as rooms.txt has it"))
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), "--graph" in sys.argv[3:]))
