#!/usr/bin/env python3
"""Evaluates questions on all ranks, and goes on from the end of the run before.

    srun -N2 --ntasks-per-node=4 deploy/examples/map.py 1000 --journal out/answers
    deploy/examples/map.py 1000                          # on its own

The questions are sums, and the model gets some of them wrong. A real one is loaded here, once on each rank.
"""

import argparse
import hashlib

import muster


def questions(count):
    for number in range(count):
        yield {"id": f"sum-{number}", "a": number * 7 % 1000, "b": number * 13 % 1000}


class Model:
    """The same answer to the same question on every rank."""

    def answer(self, question):
        truth = question["a"] + question["b"]
        luck = hashlib.sha256(question["id"].encode()).digest()[0]
        return {"id": question["id"], "answer": truth + (luck < 26), "correct": luck >= 26}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, help="the number of questions")
    parser.add_argument("--journal", help="a directory: each answer is durable there, and the next run does what is left")
    options = parser.parse_args()
    with muster.init():
        answers = muster.map(
            Model().answer,
            questions(options.count),
            journal=options.journal,
            key=lambda question: question["id"],
            name="sums of model 1",
        )
        if answers is not None:  # on rank 0
            correct = sum(answer["correct"] for answer in answers)
            print(f"{correct} of {len(answers)} answers are correct")


if __name__ == "__main__":
    main()
