"""Rows for people who watch, and a document of them."""

import os
import platform
import time


def show(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def document(file, title, words, columns, rows, about):
    lines = [f"# {title}", "", *words, "",
             f"{time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}.", "",
             "| " + " | ".join(columns) + " |", "|---|" + "--:|" * (len(columns) - 3) + "---|---|",
             *["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows], "",
             "## What each does", "", *[f"- `{name}`: {said}" for name, said in about]]
    file.write_text("\n".join(lines) + "\n")
