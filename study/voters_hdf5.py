"""Writes the tables of voters as HDF5, a data set for each column. Its interpreter has h5py.

python voters_hdf5.py DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np

for name in ("voters", "precincts"):
    with h5py.File(Path(sys.argv[1]) / f"{name}.h5", "w") as file:
        for column in sorted((Path(sys.argv[1]) / name).iterdir()):
            file.create_dataset(column.stem, data=np.load(column))
