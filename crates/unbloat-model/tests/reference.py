"""Prints the reference numbers that the tests of this crate hold.

    pip install mpmath==1.4.1 scipy==1.17.1
    python tests/reference.py mm1k      Eq. 3 and 5 with 60 digits
    python tests/reference.py ipp       IPP/M/1/K balance equations by a sparse solver
"""

import sys


def mm1k():
    from mpmath import mp, mpf

    mp.dps = 60
    for text, k in [("0.5", 10_000), ("0.95", 20), ("0.99", 200), ("0.99", 10_000), ("0.999999", 1_000),
                    ("0.9999999999", 10_000), ("1.0000000001", 500), ("1.000001", 1_000_000), ("1.2", 10_000)]:
        rho = mpf(float(text))  # the number that the test has, not the decimal one
        empty = (1 - rho) / (1 - rho ** (k + 1))
        full = rho**k * empty
        number = rho / (1 - rho) - (k + 1) * rho ** (k + 1) / (1 - rho ** (k + 1))
        print(f"({text}, {k}, {float(full)!r}, {float(number)!r}, {float(1 - empty)!r}),")


def ipp():
    import numpy as np
    from scipy.sparse import lil_matrix
    from scipy.sparse.linalg import spsolve

    for rho, on, off, k in [(0.5, 10.0, 10.0, 100), (0.95, 30.0, 70.0, 1_000), (0.99, 5.0, 20.0, 10_000),
                            (1.2, 200.0, 300.0, 5_000), (0.8, 1_000.0, 4_000.0, 300)]:
        peak, gone, back = rho * (on + off) / on, 1 / on, 1 / off
        states = 2 * (k + 1)  # 2 n: on, 2 n + 1: off
        rates = lil_matrix((states, states))
        for n in range(k + 1):
            rates[2 * n, 2 * n + 1] = gone
            rates[2 * n + 1, 2 * n] = back
            if n < k:
                rates[2 * n, 2 * n + 2] = peak
                for phase in (0, 1):
                    rates[2 * n + 2 + phase, 2 * n + phase] = 1.0
        out = np.asarray(rates.sum(axis=1)).ravel()
        balance = rates.T.tolil()
        balance.setdiag(-out)
        balance[states - 1, :] = 1.0
        right = np.zeros(states)
        right[-1] = 1.0
        p = spsolve(balance.tocsc(), right)
        levels = p[0::2] + p[1::2]
        loss = p[2 * k] / p[0::2].sum()
        number = (np.arange(k + 1) * levels).sum()
        print(f"({rho}, {on}, {off}, {k}, {float(loss)!r}, {float(number)!r}, {float(levels[0])!r}),")


{"mm1k": mm1k, "ipp": ipp}[sys.argv[1]]()
