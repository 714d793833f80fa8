"""A shell on the login node of a test cluster: runs the commands of one page as a user would."""

import os
import pathlib
import re
import select
import signal
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
ON = TOP / "tests/cluster/on"
USER = "ada"
# The number of a page's first job, as the page shows it. Clusters count from elsewhere, to millions.
FIRST_JOB, MOST_JOBS = 4242, 100
AGAIN_S = 0.3
# Lines that only this test cluster causes, whose nodes are not in DNS and in which jobs wait for the one before.
NOISE = re.compile(
    r"^.*The hostname of the client socket cannot be retrieved.*\n|^srun: job \d+ (queued and waiting for|has been allocated) resources\n", re.M
)

# For the checks of a page: `sbatch --wait` polls for the end of a job after 2, 6, 14 and 30 seconds only.
BATCH = """batch() {
  local job
  job=$(sbatch --parsable "$@") && srun --quiet -N1 -n1 --dependency=afterany:"$job" true &&
    scontrol show job "$job" | grep -w JobState | grep -w COMPLETED
}"""


class Failed(Exception):
    pass


class Session:
    """`folder`: the user's home, in which the shell begins. `cluster`: its name."""

    def __init__(self, cluster, folder, environment, patience):
        self._cluster, self._folder, self._patience = cluster, folder, patience
        self._count = 0
        self._first_job = int(re.search(r"NEXT_JOB_ID\s*=\s*(\d+)", self._ctl("scontrol", "show", "config"))[1])
        self._shell = subprocess.Popen(
            [ON, "--name", cluster, "ctl", "bash", "--noprofile", "--norc"],
            cwd=folder,
            env={**environment, "HOME": str(folder), "USER": USER, "LOGNAME": USER},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._shell.stdin.write(f"{BATCH}\n".encode())

    def _ctl(self, *command):
        return subprocess.run(
            [ON, "--name", self._cluster, "ctl", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        ).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends the shell, and the jobs that the page has left."""
        for stream in (self._shell.stdin, self._shell.stdout):
            stream.close()
        try:
            os.killpg(self._shell.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self._shell.wait()
        self._ctl("scancel", "--user=root")
        deadline = time.monotonic() + self._patience
        while self._ctl("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(AGAIN_S)

    def change_cluster(self, command):
        """A script of tests/cluster and its arguments."""
        subprocess.run([TOP / "tests/cluster" / command[0], *command[1:]], env={**os.environ, "TEST_CLUSTER": self._cluster}, check=True)

    def _as_shown(self, text):
        """With the folders and job numbers of the page."""

        def job(match):
            number = int(match[0]) - self._first_job
            return str(FIRST_JOB + number) if 0 <= number < MOST_JOBS else match[0]

        text = NOISE.sub("", text.replace(str(self._folder), f"/home/{USER}"))
        return re.sub(r"(?<![\d.])\d+(?!\d)", job, text)

    def _as_it_is(self, command):
        """With the folders and job numbers of this run."""

        def job(match):
            number = int(match[0]) - FIRST_JOB
            return str(self._first_job + number) if 0 <= number < MOST_JOBS else match[0]

        return re.sub(r"(?<![\d.:])\d{4}(?!\d)", job, command.replace(f"/home/{USER}", str(self._folder)))

    def _once(self, command):
        # A new file each time: a background program goes on writing to the one of its command.
        self._count += 1
        script, output = (self._folder.parent / f"{self._folder.name}.{self._count}.{kind}" for kind in ("command", "output"))
        script.write_text(self._as_it_is(command) + "\n", encoding="utf-8")
        self._shell.stdin.write(f". '{script}' >'{output}' 2>&1 </dev/null; echo $?\n".encode())
        self._shell.stdin.flush()
        ready, _, _ = select.select([self._shell.stdout], [], [], self._patience)
        said = self._as_shown(output.read_text(encoding="utf-8", errors="replace"))
        if not ready:
            raise Failed(f"not done after {self._patience} s: {command}\n{said}")
        code = self._shell.stdout.readline().decode().strip()
        if not code.isdigit():
            raise Failed(f"the shell ended at: {command}: {code}")
        return int(code), said

    def run(self, command, until=""):
        """(exit code, output). Again and again until the output has the words `until`."""
        deadline = time.monotonic() + self._patience
        while True:
            code, output = self._once(command)
            if until in output:
                return code, output
            if time.monotonic() > deadline:
                raise Failed(f"no '{until}' after {self._patience} s: {command}\n{output}")
            time.sleep(AGAIN_S)
