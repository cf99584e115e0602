"""Configuration files as users have them, and what editors and systems do to them."""

from hypothesis import strategies as st

MARK = b"\xef\xbb\xbf"

JSON = b"""\
{
  "theme": "dark",
  "mcpServers": {
    "github": {"command": "gh-mcp", "args": []}
  },
  "numStartups": 12
}
"""
COMMENTED = b"""\
// my settings
{
\t"unknown": {"keys": [1, 2.50, 1e3]}, // keep 2.50
\t"mcpServers": {
\t\t/* work */
\t\t"github": { "command": "gh-mcp" } // the token is in env
\t}
}
"""
TRAILING = COMMENTED.replace(b"in env\n\t}\n", b"in env\n\t},\n").replace(b'"gh-mcp" }', b'"gh-mcp" },')
JSON5 = b"""\
{
  // gateway
  gateway: { port: 18789, },
  mcp: { servers: { 'a-b': { command: 'gh-mcp', }, }, },
}
"""
TOML = b"""\
# mine
model = "gpt"  # why

[profiles."a b"]
x = [
  1, # one
]

[mcp_servers.github]
command = "gh-mcp"
"""
ZEROCLAW = b"""\
[agents.main]
model = "m" # note

[[mcp.servers]]
name = "github"
command = "gh-mcp"
"""
YAML = b"""\
# mine
GOOSE_MODEL: gpt  # why
extensions: # servers
  # dev
  developer:
    enabled: true
    args:
    - gh-mcp
mcp_servers:
  time: {command: uvx}
text: |
  two
  lines
"""
SAMPLES = {
    "json": (JSON,),
    "json-comments": (JSON, COMMENTED),
    "jsonc": (JSON, COMMENTED, TRAILING),
    "json5": (JSON5, TRAILING),
    "toml": (TOML, ZEROCLAW),
    "yaml": (YAML,),
}
VARIANTS = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "mark": lambda text: MARK + text,
    "no last line break": lambda text: text.rstrip(b"\n"),
}


def contents(form):
    """Names and contents of files that may be there; None for no file."""
    yield from (("missing", None), ("empty", b""))
    for number, sample in enumerate(SAMPLES[form]):
        yield from ((f"{name} {number}", change(sample)) for name, change in VARIANTS.items())


KINDS = {
    "json": "claude-code",
    "json-comments": "gemini-cli",
    "jsonc": "cursor",
    "json5": "openclaw",
    "toml": "codex",
    "yaml": "goose",
}
PIECES = (
    *(b"\n", b"\r\n", b" ", b"\t", b",", b"{", b"}", b"[", b"]", b":", b"=", b"#", b'"', b"'", b"- ", b"\\"),
    *(b"// x\n", b"/* y */", b"a", b"mcpServers", b"pickysteve", b"extensions:\n", b"mcp_servers"),
    *(MARK, b"\xc3\xa9", b"\xff"),
)


@st.composite
def damaged(draw, form):
    """A file as users have it, after some keys were hit by chance."""
    content = draw(st.sampled_from(SAMPLES[form]))
    hits = st.tuples(st.integers(0, 400), st.sampled_from(PIECES), st.integers(0, 9))
    for at, piece, width in draw(st.lists(hits, max_size=4)):
        content = content[:at] + piece + content[at + width :]
    return content
