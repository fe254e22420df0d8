"""Lays out style sheets with one declaration a line: `python -m tests.style_sheets FILE …`; with
`--check` it only tells which files it would change."""

from __future__ import annotations

import sys
from pathlib import Path

import cssbeautifier


def laid_out(text: str) -> str:
    """Returns the text of a style sheet in this project's layout."""
    options = cssbeautifier.default_options()
    options.indent_size, options.end_with_newline = 2, True
    options.newline_between_rules, options.space_around_combinator = False, True
    return str(cssbeautifier.beautify(text, options))


def main(arguments: list[str]) -> int:
    """Lays out the files, or with `--check` returns 1 if one of them is not laid out."""
    check, changed = "--check" in arguments, 0
    for path in sorted({Path(one) for one in arguments} - {Path("--check")}):
        text = path.read_text(encoding="utf-8")
        if laid_out(text) != text:
            changed += 1
            sys.stdout.write(f"{path} {'is not laid out: make format' if check else 'laid out'}\n")
            if not check:
                path.write_text(laid_out(text), encoding="utf-8")
    return int(check and changed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
