"""The page of results: sections are measured one by one."""

from __future__ import annotations

import report


def test_a_new_section_replaces_its_own_and_leaves_the_others() -> None:
    page = report.merged("", {"Plans": "first\n\n### Readers\n\n| 1 |\n", "By hand": "kept"})
    page = report.merged(page, {"Writing": "written", "Plans": "second"})
    assert report.kept(page) == {"Writing": "written\n\n", "Plans": "second\n\n", "By hand": "kept\n"}
    assert page.startswith("# Results")


def test_the_page_in_the_repository_has_the_form_that_is_written() -> None:
    page = report.RESULTS.read_text()
    assert report.merged(page, {}) == page
    assert {section.title for section in report.SECTIONS.values()} & set(report.kept(page))
