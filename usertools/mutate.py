#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws mutants of the sources, runs the tests on each mutant, and prints which test detected it.

mutate.sh calls this script and explains it. A mutant is one small change in one line: an operator, a
constant, a condition, or a statement left out. The sources are changed in a copy of the tree; the
tree itself is never changed. Each result is written to a file at once, so that a run can be resumed.
"""
import argparse
import collections
import filecmp
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

AREAS = ("lib/gantry", "lib/hwq", "drivers/softhca")
# Statements that only print messages. No test checks the words of a message.
LOGS = re.compile(r"^\s*(LOG|RTE_LOG|softhca_log|hwq_log\w*|violation|printf|fprintf|say|warn)\s*\(")
# Lines whose change has no effect on any program.
PASSED_OVER = re.compile(r"static_assert|__builtin_expect|__builtin_prefetch|__attribute__|\blikely\b"
    r"|\bunlikely\b|^\s*#\s*(if|ifdef|ifndef|else|elif|endif|include|error|undef|pragma)|^\s*extern\b|"
    r"SPDX")
EQUIVALENT = "test/mutants-equivalent.txt"
# Lines whose mutants are also tested under a sanitizer if the plain tests do not detect them:
# (build, lines, options).
BUILDS = (
    ("plain", re.compile(""), ()),
    ("asan", re.compile(r"free|fini|destroy|close|munmap|_put\b|release|unuse|_len\b|size"),
        ("-Db_sanitize=address,undefined", "-Db_lundef=false")),
    ("tsan", re.compile(r"lock|atomic|quiesce|pthread|memory_order|_acquire\(|_release\(|turn|fence"),
        ("-Db_sanitize=thread", "-Db_lundef=false")),
)


def mask(text):
    """Returns the text with blanks instead of comments, strings and characters. No column of the code changes."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text,
        flags=re.S)


# The replacement of each operator: the operator for which it is most easily mistaken.
OPERATORS = (
    (r"(?<![=!<>+\-*/%&|^])==(?!=)", ("!=",)),
    (r"!=", ("==",)),
    (r"(?<![<=])<=(?!=)", ("<",)),
    (r"(?<![->=])>=(?!=)", (">",)),
    (r"(?<=\s)<(?=\s)", ("<=",)),
    (r"(?<=\s)>(?=\s)", (">=",)),
    (r"&&", ("||",)),
    (r"\|\|", ("&&",)),
    (r"(?<=\s)\+(?=\s)", ("-",)),
    (r"(?<=\s)-(?=\s)", ("+",)),
    (r"(?<=\s)\*(?=\s)", ("+",)),
    (r"(?<=\s)%(?=\s)", ("/",)),
    (r"(?<=\s)<<(?=\s)", (">>",)),
    (r"(?<=\s)>>(?=\s)", ("<<",)),
    (r"(?<=\s)&(?=\s)", ("|",)),
    (r"(?<=\s)\|(?=\s)", ("&",)),
    (r"\+=", ("-=",)),
    (r"-=", ("+=",)),
    (r"\|=", ("&=",)),
    (r"&=", ("|=",)),
    (r"\btrue\b", ("false",)),
    (r"\bfalse\b", ("true",)),
    (r"(?<=return )-E[A-Z]+(?=;)", ("0",)),
    (r"(?<=\breturn )0(?=;)", ("-1",)),
)
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])")
STATEMENT = re.compile(r"^(\t+)(?!return\b|break\b|continue\b|goto\b|case\b|default\b|else\b|if\b|for\b|while\b|"
    r"do\b|struct\b|enum\b|static\b|const\b|union\b|typedef\b)[\w*(][^;{}]*;$")
DECLARATION = re.compile(r"^\t+[\w\s]+\s\**\w+(\[[^\]]*\])?(\s*=.*|,.*)?;$")
CONDITION = re.compile(r"\b(?:if|while) \((.*)\)( \{)?$")


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def changes_of(code, line):
    """Returns every change that may be drawn for a line, as (name, new line). `code` is the masked line."""
    found = []
    for pattern, others in OPERATORS:
        for match in re.finditer(pattern, code):
            for other in others:
                found.append((f"{match.group(0)} becomes {other}",
                    line[:match.start()] + other + line[match.end():]))
    for match in NUMBER.finditer(code):
        if re.match(r"0\d", match.group(1)):
            continue # octal
        new = int(match.group(1), 0) + 1
        text = (hex(new) if match.group(1).startswith("0x") else str(new)) + match.group(2)
        found.append((f"{match.group(0)} becomes {text}", line[:match.start()] + text + line[match.end():]))
    match = CONDITION.search(code)
    if match and balanced(match.group(1)):
        inner = line[match.start(1):match.end(1)]
        found.append(("the condition is negated",
            line[:match.start(1)] + "!(" + inner + ")" + line[match.end(1):]))
    if STATEMENT.match(code.rstrip()) and balanced(code) and not LOGS.match(line) and (
        not DECLARATION.match(code.rstrip()) or re.match(r"^\t+[\w.>\[\]-]+ [-+*/&|]?= ", code)):
        indent = re.match(r"\t*", line).group(0)
        found.append(("the statement is left out", indent + ";"))
    return found


def candidates(root, files):
    """Returns {(file, line number from 1): changes}, for every line that may be changed."""
    found = collections.OrderedDict()
    for name in files:
        with open(os.path.join(root, name), encoding="utf-8") as source:
            text = source.read()
        in_log = False
        for i, (code, line) in enumerate(zip(mask(text).split("\n"), text.split("\n"))):
            in_log = in_log or bool(LOGS.match(line))
            if in_log:
                in_log = not code.rstrip().endswith(";")
                continue
            if PASSED_OVER.search(line):
                continue
            if code.lstrip().startswith("#") and not re.match(r"\s*#define \w+\s+\S", code):
                continue
            changes = changes_of(code, line)
            if changes:
                found[(name, i + 1)] = changes
    return found


def draw(root, seed, count, areas):
    """Draws mutants, in the order in which they are tested. Draws more than requested, because some do not compile."""
    files = subprocess.run(["git", "-C", root, "ls-files", *areas], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split()
    files = [f for f in files if f.endswith((".c", ".h")) and not os.path.islink(os.path.join(root, f))]
    lines = candidates(root, files)
    rng = random.Random(seed)
    mutants = []
    for key in rng.sample(sorted(lines), min(len(lines), count * 3)):
        name, new = rng.choice(lines[key])
        with open(os.path.join(root, key[0]), encoding="utf-8") as source:
            old = source.read().split("\n")[key[1] - 1]
        mutants.append({"file": key[0], "line": key[1], "change": name, "old": old, "new": new})
    return mutants


class Tests:
    """The tests of one build directory: their commands, their run times, and the changes that each test has detected."""

    def __init__(self, build, jobs):
        self.build = build
        self.jobs = jobs
        # ThreadSanitizer fails if the kernel randomises too many bits of addresses.
        self.before = ["setarch", "-R"] if os.path.basename(build) == "tsan" else []
        listed = subprocess.run(["meson", "introspect", "--tests", build], check=True, text=True,
            stdout=subprocess.PIPE).stdout
        # Tests named check_* test the text of the sources, not their effect.
        self.tests = {t["name"]: t for t in json.loads(listed)
            if "bench" not in t["suite"] and not t["name"].startswith("check_")}
        self.seconds = {}
        self.kills = collections.Counter()

    def order(self, file):
        """Returns the tests in this order: those that detected changes of this file, of its folder, then the fastest tests."""
        folder = os.path.dirname(file)
        def weight(name):
            seconds = self.seconds.get(name, 1.0) + 0.2
            return -(self.kills[(name, file)] * 10 + self.kills[(name, folder)] * 3 +
                self.kills[(name, folder.split("/")[0])] + 0.3) / seconds
        return sorted(self.tests, key=weight)

    def start(self, name):
        test = self.tests[name]
        env = dict(os.environ, **{k: str(v) for k, v in test["env"].items()})
        log = tempfile.TemporaryFile()
        return {"name": name, "log": log, "at": time.monotonic(),
            "limit": 10 * self.seconds.get(name, test["timeout"] / 10) + 10,
            "process": subprocess.Popen(self.before + test["cmd"], env=env, cwd=test["workdir"] or self.build, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True)}

    @staticmethod
    def stop(job):
        try:
            os.killpg(job["process"].pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        job["process"].wait()

    def run(self, names, stop_at_first):
        """Runs tests. Returns (name, how it failed) of each failed test, or only of the first failed test."""
        waiting, running, failed = list(names), [], []
        while waiting or running:
            while waiting and len(running) < self.jobs:
                running.append(self.start(waiting.pop(0)))
            time.sleep(0.01)
            for job in list(running):
                code = job["process"].poll()
                seconds = time.monotonic() - job["at"]
                if code is None and seconds < job["limit"]:
                    continue
                running.remove(job)
                self.stop(job)
                if code in (0, 77):
                    self.seconds.setdefault(job["name"], seconds)
                    continue
                failed.append((job["name"], "took too long" if code is None else f"exit {code}"))
                if stop_at_first:
                    for other in running:
                        self.stop(other)
                    return failed
        return failed

    def noticed(self, name, file):
        folder = os.path.dirname(file)
        for key in (file, folder, folder.split("/")[0]):
            self.kills[(name, key)] += 1


def ninja(build):
    return subprocess.run(["ninja", "-C", build], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)


def equivalents(root):
    """Returns {(file, old line, new line): reason}. A line of the list has the form FILE | OLD | NEW | REASON."""
    found = {}
    path = os.path.join(root, EQUIVALENT)
    if not os.path.exists(path):
        return found
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                file, old, new, reason = (part.strip() for part in line.split(" | ", 3))
                found[(file, old, new)] = reason
    return found


def area_of(file):
    return next(area for area in AREAS if file.startswith(area))


def prepare(tree, build, options, jobs):
    """Builds one variant, and runs its tests without a mutant."""
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build, tree, "--optimization=1", *options], check=True,
            stdout=subprocess.DEVNULL)
    built = ninja(build)
    if built.returncode != 0:
        sys.exit("error: the sources do not build without a mutant:\n" + built.stdout[-3000:])
    tests = Tests(build, jobs)
    print(f"{os.path.basename(build)}: {len(tests.tests)} tests run once without a mutant", flush=True)
    failed = tests.run(sorted(tests.tests), False)
    if failed:
        sys.exit(f"error: these tests fail without a mutant: {failed}")
    return tests


def first_failure(mutant, tree, tests):
    """Returns (name, how) of the first test that fails with the mutant; None if no test fails, False if it does not compile."""
    path = os.path.join(tree, mutant["file"])
    with open(path, encoding="utf-8") as source:
        text = source.read()
    lines = text.split("\n")
    # If the file has changed since the mutant was drawn, use the nearest line with the same text.
    at = [i for i, line in enumerate(lines) if line == mutant["old"]]
    if not at:
        return False
    lines[min(at, key=lambda i: abs(i - mutant["line"] + 1))] = mutant["new"]
    try:
        with open(path, "w", encoding="utf-8") as source:
            source.write("\n".join(lines))
        if ninja(tests.build).returncode != 0:
            return False
        failed = tests.run(tests.order(mutant["file"]), True)
    finally:
        with open(path, "w", encoding="utf-8") as source:
            source.write(text)
    return failed[0] if failed else None


def try_mutant(mutant, tree, builds, known):
    """Tests a mutant. Returns (outcome, detail). `builds` has the tests of each build."""
    reason = known.get((mutant["file"], mutant["old"].strip(), mutant["new"].strip()))
    if reason is not None:
        return "equivalent", reason
    for name, lines, _ in BUILDS:
        if not lines.search(mutant["old"]):
            continue
        tests = builds(name)
        failed = first_failure(mutant, tree, tests)
        if failed is False:
            return "invalid", "does not compile, or its line is gone"
        if failed is not None:
            tests.noticed(failed[0], mutant["file"])
            return "noticed", f"{name}: {failed[0]} ({failed[1]})"
    return "survived", ""


def report(results):
    for area in AREAS:
        rows = [r for r in results if area_of(r["file"]) == area and r["outcome"] != "invalid"]
        if not rows:
            continue
        count = collections.Counter(r["outcome"] for r in rows)
        judged = count["noticed"] + count["survived"]
        print(f"\n{area}: {count['noticed']} of {judged} noticed, {count['equivalent']} equivalent")
        for r in rows:
            if r["outcome"] != "noticed":
                print(f"  {r['outcome']}: {r['file']}:{r['line']}: {r['change']}")
                print(f"      {r['old'].strip()}")
                if r["outcome"] == "equivalent":
                    print(f"      because {r['detail']}")
        by_test = collections.Counter(r["detail"].rsplit(" (", 1)[0] for r in rows
            if r["outcome"] == "noticed")
        for name, n in by_test.most_common():
            print(f"  {n:4}  {name}")
    count = collections.Counter(r["outcome"] for r in results)
    judged = count["noticed"] + count["survived"]
    share = 100 * count["noticed"] / judged if judged else 0
    print(f"\n{count['noticed']} of {judged} mutants noticed ({share:.1f} %), "
        f"{count['equivalent']} equivalent, {count['invalid']} did not compile")
    return share


def copy_tree(root, tree):
    """Updates the copy of the tree. Unchanged files keep their modification time, so they are not compiled again."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split("\n")
    for file in filter(None, listed):
        source, copy = os.path.join(root, file), os.path.join(tree, file)
        if os.path.islink(copy) or not os.path.exists(source):
            continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        if os.path.islink(source):
            os.symlink(os.readlink(source), copy)
        elif not os.path.exists(copy) or not filecmp.cmp(source, copy, shallow=False):
            shutil.copy(source, copy)
    for folder, _, names in os.walk(tree):
        for path in (os.path.join(folder, name) for name in names):
            if not os.path.lexists(os.path.join(root, os.path.relpath(path, tree))):
                os.remove(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--area", action="append", choices=AREAS)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    areas = args.area or list(AREAS)
    tree = os.path.join(args.work, "tree")
    name = f"{args.seed}-{args.count}-{'-'.join(a.replace('/', '_') for a in areas)}"
    drawn_path = os.path.join(args.work, f"mutants-{name}.json")
    results_path = os.path.join(args.work, f"results-{name}.jsonl")

    os.makedirs(args.work, exist_ok=True)
    if not os.path.exists(drawn_path):
        with open(drawn_path, "w", encoding="utf-8") as drawn:
            json.dump(draw(args.root, args.seed, args.count, areas), drawn)
    with open(drawn_path, encoding="utf-8") as drawn:
        mutants = json.load(drawn)
    if args.list:
        for m in mutants:
            print(f"{m['file']}:{m['line']}: {m['change']}\n    {m['old'].strip()}\n    {m['new'].strip()}")
        return 0

    copy_tree(args.root, tree)
    prepared = {}

    def builds(name):
        if name not in prepared:
            options = next(o for n, _, o in BUILDS if n == name)
            prepared[name] = prepare(tree, os.path.join(args.work, name), options, args.jobs)
        return prepared[name]

    results = []
    if os.path.exists(results_path):
        with open(results_path, encoding="utf-8") as lines:
            results = [json.loads(line) for line in lines]
        print(f"resumed behind {len(results)} mutants", flush=True)
    for r in results:
        if r["outcome"] == "noticed":
            name, test = r["detail"].rsplit(" (", 1)[0].split(": ", 1)
            builds(name).noticed(test, r["file"])
    known = equivalents(args.root)

    def judge(mutant):
        start = time.monotonic()
        outcome, detail = try_mutant(mutant, tree, builds, known)
        print(f"{time.monotonic() - start:5.0f} s  {outcome:10} {mutant['file']}:{mutant['line']}: "
            f"{mutant['change']}  {detail}", flush=True)
        return dict(mutant, outcome=outcome, detail=detail)

    if args.survivors:
        results = [judge(r) if r["outcome"] == "survived" else r for r in results]
        with open(results_path, "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(r) + "\n" for r in results)
    for mutant in mutants[len(results):]:
        if sum(r["outcome"] in ("noticed", "survived") for r in results) >= args.count:
            break
        results.append(judge(mutant))
        with open(results_path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(results[-1]) + "\n")
    return 0 if report(results) >= 95 else 1


if __name__ == "__main__":
    sys.exit(main())
