"""An MCP server, a skill and a sub-agent, as files of a repository."""

from scylla_gha.model.variant import Treatment
from tests.support.repository import Files

AGENT = "---\nname: reader\ndescription: Reads\n---\nYou read.\n"
SKILL = "---\nname: greeting\ndescription: How to greet\n---\nSay hello.\n"
SERVER = """\
import json, sys
TOOL = {"name": "now", "description": "The time", "inputSchema": {"type": "object", "properties": {}}}
ANSWERS = {
    "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "clock", "version": "1"}},
    "tools/list": {"tools": [TOOL]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ANSWERS.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""
FILES: Files = {
    "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
    "config/mcp/clock/clock.py": "pass\n",
    "config/skills/greeting/SKILL.md": SKILL,
    "config/skills/greeting/words/hello.txt": "Hello\n",
    "config/agents/reader.md": AGENT,
}
ALL = Treatment(mcp_servers=("clock",), skills=("greeting",), agents=("reader",))
SKILL_AT = "config/skills/greeting/SKILL.md"
SERVER_AT = "config/mcp/clock/server.yaml"
AGENT_AT = "config/agents/reader.md"
