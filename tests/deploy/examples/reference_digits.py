"""Leave-one-out nearest neighbour on the digits, written a second time to check the first: reference_digits.py DATA

Prints one predicted label a line, in the order of the images, and the accuracy on stderr. Nothing but the standard
library, and another way to the distance: |a - b|^2 = |a|^2 + |b|^2 - 2ab, each pair once.
"""
import csv
import operator
import sys


def read(path):
    with open(path, newline="") as lines:
        rows = [[int(value) for value in row] for row in csv.reader(lines)]
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def dot(a, b):
    return sum(map(operator.mul, a, b))


def nearest(images):
    """For each image (distance, index) of its nearest; a tuple's order settles ties for the lower index."""
    squares = [dot(image, image) for image in images]
    best = [(float("inf"), -1)] * len(images)
    for i, image in enumerate(images):
        for j in range(i):
            distance = squares[i] + squares[j] - 2 * dot(image, images[j])
            best[i] = min(best[i], (distance, j))
            best[j] = min(best[j], (distance, i))
    return best


def main(path):
    images, labels = read(path)
    predictions = [labels[index] for _, index in nearest(images)]
    correct = sum(map(operator.eq, predictions, labels))
    print(f"accuracy: {correct}/{len(labels)} = {100 * correct / len(labels):.2f} %", file=sys.stderr)
    sys.stdout.write("".join(f"{label}\n" for label in predictions))


if __name__ == "__main__":
    main(sys.argv[1])
