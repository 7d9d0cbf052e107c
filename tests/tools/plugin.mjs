// Calls the hooks of an OpenCode plugin: node plugin.mjs PLUGIN DIRECTORY < a list of calls, > what came of each.
import { readFileSync } from "node:fs"

const [, , plugin, directory] = process.argv
const { SynapseGit } = await import(plugin)
const hooks = await SynapseGit({ directory })
const found = []
for (const { hook, input, output } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await hooks[hook](input, output)
    found.push({ output: output ?? null })
  } catch (error) {
    found.push({ thrown: error.message })
  }
}
console.log(JSON.stringify(found))
