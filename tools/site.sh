#!/usr/bin/env bash
# Builds the site of the docs, build/site/index.html: the pages as they stand, and the reference of the Python package, which
# is read from a wheel. WHEEL is that wheel; without it one is built.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
environment site
bin=build/site-$name/bin

# The package as it is installed. The docstrings of its extension modules are in their stubs.
wheel=${WHEEL:-}
if [ -z "$wheel" ]; then
  tools/test_python.sh --only-wheel
  wheel=$(ls "build/wheel-$name"/*.whl)
fi
rm -rf build/site-package
"$bin/python" -m zipfile -e "$wheel" build/site-package
rm -f build/site-package/attention_plasticity/*.so

# README is the first page; links between it and docs/ go up and down a folder, which the site does not have. Links to
# sources are left as text.
pages=build/site-pages
rm -rf "$pages"
mkdir -p "$pages"
cp docs/*.md docs/*.svg "$pages"
cp README.md "$pages/index.md"
cp CONTRIBUTING.md "$pages"
sed -i -E 's#\]\(docs/#](#g; s#\]\(\.\./(README\.md)#](index.md#g; s#\]\(tutorial\.ipynb#](tutorial.md#g; s#\]\(\.\./CONTRIBUTING\.md#](CONTRIBUTING.md#g' "$pages"/*.md
sed -i -E 's#\[([^]]*)\]\((\.\./)?(include|python|tests|tools|cmake|results|configs|examples|web|bench|LICENSE|CITATION|CHANGELOG)[^)]*\)#\1#g' "$pages"/*.md
# The notebook as a page: its text, and its code.
"$bin/python" - docs/tutorial.ipynb >"$pages/tutorial.md" <<'PAGE'
import json, sys
for cell in json.load(open(sys.argv[1]))["cells"]:
    text = "".join(cell["source"])
    print(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```", end="\n\n")
PAGE
"$bin/mkdocs" build --strict --quiet
if grep -rlE '<(script|link|img)[^>]*(src|href)="https?:' build/site --include='*.html'; then
  echo "site: these pages load something from elsewhere" >&2
  exit 1
fi
if grep -l arithmatex build/site/*.html || ! grep -q '<math' build/site/method.html; then
  echo "site: these pages have formulas that are not MathML" >&2
  exit 1
fi
echo "build/site/index.html"
