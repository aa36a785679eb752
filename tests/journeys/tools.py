"""Small local tools, well-behaved and not, that the journeys put into a project."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = '# /// script\n# requires-python = ">=3.11"\n# dependencies = []\n# ///\n'
SDK = HEADER + "import os, sys, time\nfrom tool_server import ToolFailure, serve\n\n\n"
SERVE = '\n\nif __name__ == "__main__":\n    serve(run)\n'
RAW = (
    HEADER
    + """import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({health})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        {post}


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""
)
OK = '200, b\'{"status":"ok"}\''

PROGRAMS = {
    "pid": SDK + "def run(params):\n    time.sleep(params.get('sleep', 0))\n    return {'pid': os.getpid()}" + SERVE,
    "informed": SDK + "def run(params, call):\n    return {'id': call.id, 'seconds': call.deadline_seconds}" + SERVE,
    "home": SDK + "def run(params):\n    return dict(os.environ, argv=sys.argv)" + SERVE,
    "exits": HEADER + "import sys\nprint('cannot find the licence file', file=sys.stderr)\nsys.exit(3)\n",
    "sick": RAW.replace("{health}", '503, b\'{"status":"warming up"}\'').replace("{post}", "self.answer(200, b'1')"),
    "noisy": SDK
    + "sys.stderr.write('x' * 1_000_000)\n\n\n"
    + "def run(params):\n    sys.stderr.write('y' * 1_000_000)\n    return 'heard'"
    + SERVE,
    "fails": RAW.replace("{health}", OK).replace("{post}", "self.answer(500, b'disk on fire', 'text/plain')"),
    "prose": RAW.replace("{health}", OK).replace("{post}", "self.answer(200, b'<html>hello</html>', 'text/html')"),
    "large": RAW.replace("{health}", OK).replace("{post}", "self.answer(200, b'\"' + b'z' * 60_000_000 + b'\"')"),
    "huge": RAW.replace("{health}", OK).replace("{post}", "self.answer(200, b'\"' + b'z' * 70_000_000 + b'\"')"),
    "hangs": SDK + "def run(params):\n    time.sleep(3600)" + SERVE,
    "dies": SDK + "def run(params):\n    print('out of luck', flush=True)\n    os._exit(7)" + SERVE,
    "forks": SDK
    + "import subprocess\n\n\ndef run(params):\n    child = subprocess.Popen(['sleep', '600'])\n"
    + "    return {'pid': os.getpid(), 'child': child.pid}"
    + SERVE,
}


def make_tool(project: Path, tool_id: str, program: str | None = None, manifest: str = "") -> Path:
    """Write ``tools/local/<tool_id>`` below ``project``; its program has the same name or that of ``program``."""
    folder = project / "tools" / "local" / tool_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text(PROGRAMS[program or tool_id], encoding="utf-8")
    lines = [f'id = "{tool_id}"', f'name = "{tool_id}"', 'description = "A tool of the tests."', 'category = "test"']
    keys = {line.split("=")[0].strip() for line in manifest.splitlines() if "=" in line}
    lines += [line for line in ["start_timeout = 20", "idle = 0"] if line.split("=")[0].strip() not in keys]
    (folder / "tool.toml").write_text(
        "\n".join([*lines, manifest, '[input_schema]\ntype = "object"\n']), encoding="utf-8"
    )
    shutil.copy(ROOT / "src" / "toolcrib" / "tool_server.py", folder)
    return folder
