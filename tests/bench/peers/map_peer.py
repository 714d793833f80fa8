"""Sleeps for each line of a file, shared among 16 workers in one of four ways; prints the seconds from the first to the last.

    map_peer.py resident FILE DIRECTORY      muster.map, in each rank of a launch
    map_peer.py static FILE DIRECTORY        every sixteenth item to one process, as evaluation harnesses divide them
    map_peer.py pool FILE DIRECTORY          multiprocessing.Pool
    map_peer.py hyperqueue FILE DIRECTORY    HyperQueue: a server and a worker of 16 cores in this process
"""

import csv
import multiprocessing
import os
import sys
import time

WORKERS = 16


def resident(items, directory):
    import muster

    muster.init()
    muster.barrier()
    start = time.perf_counter()
    muster.map(lambda item: time.sleep(item[1]), list(enumerate(items)), journal=os.path.join(directory, "journal"))
    return time.perf_counter() - start if muster.rank() == 0 else None


def sleep_all(items):
    for seconds in items:
        time.sleep(seconds)


def static(items, _):
    start = time.perf_counter()
    workers = [multiprocessing.Process(target=sleep_all, args=(items[first::WORKERS],)) for first in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def pool(items, _):
    start = time.perf_counter()
    with multiprocessing.Pool(WORKERS) as workers:
        for _ in workers.imap_unordered(time.sleep, items):
            pass
    return time.perf_counter() - start


def hyperqueue(items, directory):
    import hyperqueue as hq
    from hyperqueue.cluster import LocalCluster, WorkerConfig

    with LocalCluster(server_dir=directory, worker_config=WorkerConfig(cores=WORKERS)) as cluster:
        client = cluster.client()
        job = hq.Job(default_workdir=directory)
        for seconds in items:
            job.program(["sleep", str(seconds)])
        start = time.perf_counter()
        client.wait_for_jobs([client.submit(job)])
        return time.perf_counter() - start


def main():
    way, path, directory = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        items = [float(row["seconds"]) for row in csv.DictReader(file)]
    seconds = {"resident": resident, "static": static, "pool": pool, "hyperqueue": hyperqueue}[way](items, directory)
    if seconds is not None:
        print(seconds, flush=True)


if __name__ == "__main__":
    main()
