import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

// An error event without a listener ends a process. Each thing that may send one has an owner beside it, or is listed here with a reason.

const root = resolve(import.meta.dirname, '../src')

const makers: Readonly<Record<string, RegExp>> = {
  thread: /new (?:Worker|Piscina)\(/,
  port: /new MessageChannel\(/,
  emitter: /new EventEmitter\(|extends EventEmitter\b/,
  stream: /new (?:PassThrough|Transform|Writable|Readable|Duplex)\(|create(?:Read|Write)Stream\(|\.pipe\((?!z\.|Counter|Plan)/,
  server: /\bcreateServer\(|app\.listen\(/,
  socket: /(?:net|tls)\.connect\(|createConnection\(/,
  database: /new pg\.Pool\(|new \(driver\(\)\.Client\)\(|\bcreateClient\(|= make\(\{/,
  process: /\bspawn\(|\bfork\(|execFile\(/,
  program: /\bexeca\(/,
  request: /\brequest(?:Plain|Secure)?\(target\b|http\.request\(|https\.request\(/,
  dispatcher: /new undici\.(?:Agent|Pool|Client)\(/,
  engine: /\.getEvents\(|\.start\(\{ hijack|\.logs\(\{/,
}

/** Text within some lines after the maker. */
const owner = /\bon(?:ce)?\(\s*'error'|once\(child, '|\bpipeline\(|for await \(/

/** `file: maker` and why its errors have an owner elsewhere. */
const reviewed: Readonly<Record<string, string>> = {
  'agent/box-servers/dump.ts: stream': 'the input of exec, which listens before it does anything',
  'agent/box-servers/http.ts: dispatcher': 'errors of its connections reject the calls',
  'agent/box-servers/load.ts: stream': 'the input of exec, which listens before it does anything',
  'agent/docker/compose.ts: program': 'execa rejects or reports the failure, and owns its streams',
  'agent/docker/exec.ts: stream': 'the streams of the output are awaited by demux and finished',
  'agent/docker/streams.ts: engine': 'the log arrives whole, as bytes',
  'agent/docker/streams.ts: stream': 'it keeps bytes in memory and cannot fail',
  'agent/program/doctor.ts: program': 'execa rejects or reports the failure, and owns its streams',
  'agent/snapshots/restic-snapshots.ts: program': 'execa rejects or reports the failure, and owns its streams',
  'agent/snapshots/start-gate.ts: program': 'execa rejects or reports the failure, and owns its streams',
  'daemon/db/postgres.ts: database': 'two clients only read the address; they never connect',
  'daemon/homeserver/chat-client.ts: dispatcher': 'errors of its connections reject the calls',
  'daemon/http/send-file.ts: stream': 'sendFile passes it to pipeline in the same turn',
  'daemon/limits/redis-store.ts: database': 'connect() listens, below',
  'daemon/modules/services/connections.ts: request': 'answerOf listens in the same turn',
  'daemon/modules/services/proxy-request.ts: stream': 'the caller listens for the error, or pipeline does',
  'daemon/objects/folder-store.ts: stream': 'a handle that is open: it reads once its reader listens',
  'daemon/program/backup/copy-database.ts: program': 'execa rejects or reports the failure, and owns its streams',
  'node/restic/run-restic.ts: program': 'execa rejects or reports the failure, and owns its streams',
  'node/sandbox/sandbox.ts: port': 'a port has no error event that ends a process',
}

const windowLines = 18

test('each emitter of errors has an owner', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.ts$/.test(file) && !file.startsWith('console/'),
  )
  const without = new Set<string>()
  for (const file of files) {
    const lines = readFileSync(join(root, file), 'utf8').split('\n')
    for (const [n, line] of lines.entries())
      for (const [name, maker] of Object.entries(makers)) {
        if (!maker.test(line) || /^\s*(?:\*|\/\/|\/\*\*|import )/.test(line)) continue
        const near = lines.slice(Math.max(0, n - 1), n + windowLines).join('\n')
        if (!owner.test(near)) without.add(`${file}: ${name}`)
      }
  }
  expect([...without].toSorted()).toEqual(Object.keys(reviewed).toSorted())
})
