"""set_urls.py PYPROJECT URL: adds the addresses of the repository that builds a release, which no checkout knows."""
import pathlib
import sys

PAGES = {"Homepage": "", "Repository": "", "Documentation": "/tree/HEAD/docs", "Changelog": "/blob/HEAD/CHANGELOG.md",
         "Issues": "/issues"}


def with_urls(pyproject: str, url: str) -> str:
    if "[project.urls]" in pyproject or not url.startswith("https://"):
        raise SystemExit(f"set_urls: {url} for a file that has its addresses, or no address")
    table = "[project.urls]\n" + "".join(f'{name} = "{url}{page}"\n' for name, page in PAGES.items())
    head, scripts, rest = pyproject.partition("[project.scripts]\n")
    assert scripts, "no [project.scripts]"
    return head + table + "\n" + scripts + rest


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    path.write_text(with_urls(path.read_text(encoding="utf-8"), sys.argv[2]), encoding="utf-8")
