// Drives an MCP server with the official client of a protocol revision, for the lab:
//
//   node client.mjs REVISION PROGRAM ARGUMENT…
//
// A line of standard input is {"tool", "arguments"}, or {} for the list of the tools. A line of
// standard output is what the client made of the server's answer.
import readline from 'node:readline'

const [revision, command, ...args] = process.argv.slice(2)
const me = { name: 'lab', version: '1' }
const modern = revision >= '2026'
const { Client } = await import(modern ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js')
const { StdioClientTransport } = await import(modern ? '@modelcontextprotocol/client/stdio' : '@modelcontextprotocol/sdk/client/stdio.js')
const client = modern ? new Client(me, { versionNegotiation: { mode: { pin: revision } } }) : new Client(me)
const transport = new StdioClientTransport({ command, args, env: process.env })
const says = (value) => process.stdout.write(JSON.stringify(value) + '\n')
let negotiated
transport.setProtocolVersion = (version) => { negotiated = version }
client.onerror = (e) => says({ unasked: String(e) })
await client.connect(transport)
says({ revision: client.getNegotiatedProtocolVersion?.() ?? negotiated })
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { tool, arguments: given } = JSON.parse(line)
  try {
    says(tool ? await client.callTool({ name: tool, arguments: given }) : await client.listTools())
  } catch (e) {
    says({ thrown: String(e) })
  }
}
await client.close()
