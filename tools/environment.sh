# Sourced by scripts that run Python, in the root of the project. PYTHON is the interpreter; python3 unless it says otherwise.
# Sets `python`, and `name`, such as python3.11.
python=${PYTHON:-python3}
name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

# environment NAME [REQUIREMENTS...]: makes build/NAME-pythonX.Y with the packages of requirements/NAME.txt, and of the other
# files that are named, when these have changed. Then calls the function finish_NAME, if there is one, with the folder.
environment() {
  local folder=build/$1-$name files=("${@/%/.txt}") sum
  files=("${files[@]/#/requirements/}")
  sum=$(cat "${files[@]}" | sha256sum)
  [ "$(cat "$folder/stamp" 2>/dev/null || true)" != "$sum" ] || return 0
  echo "making $folder" >&2
  mkdir -p build
  "$python" -m venv --clear "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes "${files[@]/#/-r}"
  if declare -F "finish_$1" >/dev/null; then "finish_$1" "$folder"; fi
  printf '%s\n' "$sum" >"$folder/stamp"
}

# install_wheel NAME: installs the wheel WHEEL into an environment. Without that variable, builds one.
install_wheel() {
  local pip=build/$1-$name/bin/pip wheel=${WHEEL:-}
  if [ -z "$wheel" ]; then
    tools/test_python.sh --only-wheel
    wheel=$(ls "build/wheel-$name"/*.whl)
  fi
  "$pip" uninstall --quiet --yes attention-plasticity 2>/dev/null || true
  "$pip" install --quiet --disable-pip-version-check --no-deps "$wheel"
}
