"""The evaluation of digits in Python: digits.py [DATA]

Each rank classifies its share of the images; rank 0 prints the accuracy. The standard library and muster are enough:

    srun -N2 -n8 python digits.py
"""

import csv
import operator
import os
import sys

import muster

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data/digits.csv")


def read(path):
    with open(path, newline="", encoding="ascii") as lines:
        rows = [[int(value) for value in row] for row in csv.reader(lines)]
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def dot(a, b):
    return sum(map(operator.mul, a, b))


def nearest(images, squares, which):
    """The index of the image that is nearest to image `which`. |a - b|^2 = |a|^2 + |b|^2 - 2ab."""
    image = images[which]
    others = (other for other in range(len(images)) if other != which)
    return min(others, key=lambda other: squares[other] - 2 * dot(image, images[other]))


def main(path):
    images, labels = read(path)
    squares = [dot(image, image) for image in images]
    with muster.init() as comm:
        mine = range(comm.rank, len(images), comm.size)
        right = muster.all_reduce(sum(labels[nearest(images, squares, row)] == labels[row] for row in mine))
        if comm.rank == 0:
            print(f"accuracy: {right}/{len(labels)} = {100 * right / len(labels):.2f} %")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DATA)
