"""Prints the reference numbers that the tests of this crate hold.

    pip install mpmath==1.4.1
    python tests/reference.py mm1k      Eq. 3 and 5 as printed, with 60 digits
    python tests/reference.py md1k      the alternating closed form of Brun and Garcia (2000), with enough digits
    python tests/reference.py ipp       the balance equations of IPP/M/1/K one after the other, with enough digits
"""

import sys

from mpmath import exp, mp, mpf


def mm1k():
    mp.dps = 60
    for text, k in [("0.5", 10_000), ("0.95", 20), ("0.99", 200), ("0.99", 10_000), ("0.999999", 1_000),
                    ("0.9999999999", 10_000), ("1.0000000001", 500), ("1.000001", 1_000_000), ("1.2", 10_000)]:
        rho = mpf(float(text))  # the number that the test has, not the decimal one
        empty = (1 - rho) / (1 - rho ** (k + 1))
        full = rho**k * empty
        number = rho / (1 - rho) - (k + 1) * rho ** (k + 1) / (1 - rho ** (k + 1))
        print(f"({text}, {k}, {float(full)!r}, {float(number)!r}, {float(1 - empty)!r}),")


def md1k():
    for text, k in [("0.5", 100), ("0.95", 200), ("0.99", 2_000), ("1.0", 1_000), ("1.2", 2_000)]:
        mp.dps = 3 * k + 100
        rho, n = mpf(float(text)), k - 1
        total, factorial = mpf(0), mpf(1)
        for i in range(k):
            factorial *= max(i, 1)
            total += (-rho) ** i * mpf(n - i) ** i * exp((n - i) * rho) / factorial
        empty = 1 / (1 + rho * total)
        full = 1 - total / (1 + rho * total)
        print(f"({text}, {k}, {float(full)!r}, {float(1 - empty)!r}),")


def ipp():
    """Every equation gives the next level from those before; each probability is kept as a pair (c, d), meaning
    c p(0, on) + d p(0, off). The equation of the last level with the source off gives their ratio."""
    for rho, on, off, k in [(0.5, 10.0, 10.0, 100), (0.95, 30.0, 70.0, 1_000), (0.99, 5.0, 20.0, 10_000),
                            (1.2, 200.0, 300.0, 5_000), (0.8, 1_000.0, 4_000.0, 300)]:
        mp.dps = 2 * k + 100
        peak = mpf(rho) * (mpf(on) + mpf(off)) / mpf(on)
        gone, back = 1 / mpf(on), 1 / mpf(off)
        levels = [((mpf(1), mpf(0)), (mpf(0), mpf(1)))]
        for n in range(k):
            (a, b), (c, d) = levels[n]
            served = 1 if n > 0 else 0
            before = levels[n - 1][0] if n > 0 else (mpf(0), mpf(0))
            next_on = [(peak + gone + served) * x - back * y - peak * z for x, y, z in zip((a, b), (c, d), before)]
            next_off = [(back + served) * y - gone * x for x, y in zip((a, b), (c, d))]
            levels.append((tuple(next_on), tuple(next_off)))
        (a, b), (c, d) = levels[k]
        # (back + 1) (c + d x) = gone (a + b x)
        x = ((back + 1) * c - gone * a) / (gone * b - (back + 1) * d)
        p_on = [a + b * x for (a, b), _ in levels]
        p_off = [c + d * x for _, (c, d) in levels]
        total = sum(p_on) + sum(p_off)
        loss = p_on[k] / sum(p_on)
        number = sum(n * (p + q) for n, (p, q) in enumerate(zip(p_on, p_off))) / total
        empty = (p_on[0] + p_off[0]) / total
        print(f"({rho}, {on}, {off}, {k}, {float(loss)!r}, {float(number)!r}, {float(empty)!r}),", flush=True)


{"mm1k": mm1k, "md1k": md1k, "ipp": ipp}[sys.argv[1]]()
