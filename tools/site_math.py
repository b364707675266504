"""A hook of MkDocs: formulas become MathML, which browsers show without a script. Part of `make site`.

pymdownx.arithmatex has marked the formulas of a page.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def mathml(formula: re.Match[str]) -> str:
    is_block = formula[1] == "div"
    made = convert(html.unescape(formula[2]), display="block" if is_block else "inline")
    return f"<p>{made}</p>" if is_block else made


def on_page_content(content: str, **_: Any) -> str:
    return FORMULA.sub(mathml, content)
