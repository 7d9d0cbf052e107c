// Hook of synapse-git, version 1
// Asks before a tool edits what another agent may hold. Written by `synapse-git agents install`, and removed by
// `synapse-git agents uninstall`. Whatever goes wrong here stops no tool.
import { spawn } from "node:child_process"

const HOOK = '"${XDG_DATA_HOME:-$HOME/.local/share}/synapse-git/agent-hook" opencode '
const TOOLS = ["edit", "multiedit", "write", "patch", "apply_patch", "bash"]

function ask(event, payload) {
  return new Promise((resolve) => {
    try {
      const child = spawn("sh", ["-c", HOOK + event], { stdio: ["pipe", "pipe", "ignore"], timeout: 10000 })
      let said = ""
      child.stdout.on("data", (part) => (said += part))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve({}))
      child.on("close", () => {
        try {
          resolve(JSON.parse(said))
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve({})
    }
  })
}

export const SynapseGit = async ({ directory }) => {
  const parents = new Map() // a subagent's session: the one that it works for
  const running = new Map() // a call: the arguments it was made with

  function session(id) {
    let top = id
    while (parents.has(top)) top = parents.get(top)
    return { session_id: top, cwd: directory, ...(top === id ? {} : { agent_id: id }) }
  }

  return {
    "tool.execute.before": async (input, output) => {
      if (!TOOLS.includes(input.tool)) return
      running.set(input.callID, output.args)
      const payload = { ...session(input.sessionID), tool_name: input.tool, tool_input: output.args }
      const { reason } = await ask("tool.execute.before", payload)
      if (reason) {
        running.delete(input.callID)
        throw new Error(reason)
      }
    },
    "tool.execute.after": async (input) => {
      const given = running.get(input.callID)
      running.delete(input.callID)
      if (given && input.tool !== "bash")
        await ask("tool.execute.after", { ...session(input.sessionID), tool_name: input.tool, tool_input: given })
    },
    "shell.env": async (input, output) => {
      if (input.sessionID) output.env.OPENCODE_SESSION_ID = session(input.sessionID).session_id
    },
    event: async ({ event }) => {
      const about = event.properties ?? {}
      if (event.type === "session.created" && about.info?.parentID) parents.set(about.info.id, about.info.parentID)
      if (event.type === "session.idle") await ask("session.idle", session(about.sessionID))
      if (event.type === "session.deleted" && about.info) await ask("session.deleted", session(about.info.id))
    },
  }
}
