// A client of the Model Context Protocol that is not the one of our library: it
// reads from standard input what to do, as JSON, and prints what comes of it.
//
//   {command, args, env} or {socket, path, headers}, and {uses: [{tool, arguments}], uri, prefix}
import http from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

let input = ''
for await (const part of process.stdin) input += part
const todo = JSON.parse(input)

// overSocket is fetch, over a Unix socket.
function overSocket(url, init = {}) {
  return new Promise((resolve, reject) => {
    const headers = { ...Object.fromEntries(new Headers(init.headers)), ...todo.headers }
    const { pathname, search } = new URL(url)
    const request = http.request({ socketPath: todo.socket, path: pathname + search, method: init.method ?? 'GET', headers }, (answer) => {
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        const bare = answer.statusCode === 202 || answer.statusCode === 204
        resolve(new Response(bare ? null : Buffer.concat(parts), { status: answer.statusCode, headers: answer.headers }))
      })
    })
    request.on('error', reject)
    request.end(init.body)
  })
}

const transport = todo.command
  ? new StdioClientTransport({ command: todo.command, args: todo.args, env: todo.env, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL('http://memwatchd' + todo.path), { fetch: overSocket })
const client = new Client({ name: 'other', version: '1' })
await client.connect(transport)

const seen = { server: client.getServerVersion(), instructions: client.getInstructions(), tools: [], answers: [] }
seen.tools = (await client.listTools()).tools.map((tool) => tool.name)
for (const use of todo.uses) {
  const answer = await client.callTool({ name: use.tool, arguments: use.arguments })
  seen.answers.push({ text: answer.content.map((c) => c.text).join(''), structured: answer.structuredContent, failed: answer.isError === true })
}
seen.files = (await client.listResources()).resources.map((r) => r.uri)
seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((r) => r.uriTemplate)
seen.file = (await client.readResource({ uri: todo.uri })).contents
seen.completed = (await client.complete({ ref: { type: 'ref/resource', uri: seen.templates[0] }, argument: { name: 'path', value: todo.prefix } })).completion.values
try {
  await client.readResource({ uri: 'memory://none.md' })
} catch (e) {
  seen.missing = { code: e.code, message: e.message }
}
try {
  await client.callTool({ name: 'none', arguments: {} })
} catch (e) {
  seen.unknown = { code: e.code, message: e.message }
}
await client.close()
console.log(JSON.stringify(seen))
