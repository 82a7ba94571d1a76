"""The pages of the documentation, and functions that return their code blocks, prose, links and tables."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
PAGES = [README, *sorted(DOCS.rglob("*.md"))]

Row = tuple[str, ...]

_CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    """Returns the path of a page relative to the repository."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """Returns the code blocks of a page in this language."""
    return [code for kind, code in _CODE_BLOCK.findall(page.read_text()) if kind == language]


def prose(page: Path) -> str:
    """Returns the text of a page without its code blocks."""
    return _CODE_BLOCK.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Returns the links of a page to files of the repository."""
    return [link for link in _LINK.findall(prose(page)) if "://" not in link]


def table(page: Path, heading: str) -> list[Row]:
    """Returns the rows of the table whose first column has this heading. The page must have exactly one."""
    (rows,) = tables(page, heading)
    return rows


def tables(page: Path, heading: str) -> list[list[Row]]:
    """Returns the rows of each table whose first column has this heading."""
    return [rows[2:] for rows in _tables(page) if rows[0][0] == heading]


def _tables(page: Path) -> Iterator[list[Row]]:
    for paragraph in prose(page).split("\n\n"):
        if (lines := paragraph.strip().splitlines()) and lines[0].startswith("|"):
            yield [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
