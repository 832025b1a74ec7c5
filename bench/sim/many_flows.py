"""Many flows at once: what a packet and a flow cost, and htsim in turns."""

import statistics

from ns3_wheel import output

FLOWS = [1, 10, 100, 1_000, 10_000]
# A process of htsim simulates once: with fewer flows its beginning would count.
HTSIM_LEAST = 100
# The example runs few flows again until there are so many.
LEAST_FLOWS = 1_000
WANTED_RATIO, WANTED_KB = 2, 20


def ours(program, flows, *arguments):
    """Packets of one run, seconds a packet, and kB by which the process grew."""
    runs, packets, seconds, grown = output(program, flows, *arguments).split()
    return int(packets) // int(runs), float(seconds) / int(packets), int(grown)


def theirs(program, flows):
    """The same of htsim."""
    runs = [output(program, flows).split() for _ in range(max(1, LEAST_FLOWS // flows))]
    packets = sum(int(run[0]) for run in runs)
    return int(runs[0][0]), sum(float(run[1]) for run in runs) / packets, int(runs[0][2])


def turn(program, htsim):
    """One round: for each number of flows CUBIC, and NewReno with an ACK for each segment beside htsim."""
    found = {}
    for flows in FLOWS:
        cubic = ours(program, flows)
        pair = (ours(program, flows, "newreno", "--ack-all"), theirs(htsim, flows)) if flows >= HTSIM_LEAST else None
        found[flows] = (cubic, pair)
    return found


def spread(values, digits):
    """Median, least and greatest."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def print_cost(turns):
    print("\n## Cost of a packet and of a flow\n")
    print("N CUBIC flows over N times 1 Mbit/s, 50 ms each way and 20 packets of FIFO for 10 s. Memory is the growth of the process")
    print("until its peak, beyond that with one flow. Medians and, in brackets, least and greatest; ratios are taken within rounds.\n")
    print("| flows | packets | ns a packet | times one flow | wanted at most | kB a flow | wanted at most |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for flows in FLOWS:
        cubic = [found[flows][0] for found in turns]
        first = [found[1][0] for found in turns]
        cells = [f"{flows:,}", f"{cubic[0][0]:,}", spread([1e9 * one[1] for one in cubic], 0)]
        if flows > 1:
            cells += [spread([one[1] / base[1] for one, base in zip(cubic, first)], 2), str(WANTED_RATIO),
                      f"{statistics.median((one[2] - base[2]) / (flows - 1) for one, base in zip(cubic, first)):.1f}", str(WANTED_KB)]
        else:
            cells += [""] * 4
        print("| " + " | ".join(cells) + " |")


def print_beside(turns, version):
    print(f"\n## Beside htsim\n\nhtsim {version}, the same flows and path. Both send NewReno and acknowledge every segment.")
    print("Million packets per CPU-second.\n")
    print("| flows | packets | htsim: packets | found | htsim | ratio | wanted | kB a flow | htsim |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for flows in (flows for flows in FLOWS if flows >= HTSIM_LEAST):
        here, there = zip(*(found[flows][1] for found in turns))
        speeds = [[1e-6 / one[1] for one in side] for side in (here, there)]
        cells = [f"{flows:,}", f"{here[0][0]:,}", f"{there[0][0]:,}", *(spread(side, 2) for side in speeds),
                 spread([ours / theirs for ours, theirs in zip(*speeds)], 2), "over 1",
                 *(f"{statistics.median(one[2] for one in side) / flows:.1f}" for side in (here, there))]
        print("| " + " | ".join(cells) + " |")
