# Sourced by the scripts beside it. Sets $root and $python, and defines set_up.
# Nothing of the user's is touched: not the active virtual environment, not the current directory.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
python=$root/.venv/bin/python

usable() {
  "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# The environment's own Python where there is one, so that another Python on PATH does not remake it.
find_python() {
  local candidate
  for candidate in "$python" "${TOOLCRIB_PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
    if [[ -n $candidate ]] && usable "$candidate"; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  {
    echo "toolcrib needs Python 3.11 or newer. Found: $(python3 --version 2>&1 || true)"
    echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name it: TOOLCRIB_PYTHON=/path/to/python $0"
  } >&2
  return 1
}

# set_up serve | test: brings .venv up to date; does nothing, and needs no network, where it is.
set_up() {
  local found
  found=$(find_python) || exit 1
  "$found" -I "$root/scripts/_setup.py" "$1" || exit $?
}
