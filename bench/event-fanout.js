import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sized } from './size.js'

const maxTimes = 1.5
const maxKiB = 40

/** What each of the two processes needs for 5,000 connections, and some for itself. Shells raise it up to the limit of the machine. */
const files = 6000

/** Runs a file of this folder, with room for that many open files where the machine allows it: usual are 1,024. */
function start(name, ...args) {
  const words = [process.execPath, '--expose-gc', fileURLToPath(new URL(name, import.meta.url)), ...args]
  return spawn('sh', ['-c', `ulimit -n ${files} 2>/dev/null; exec "$0" "$@"`, ...words], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

/** The first events warm up both variants; the second are measured. */
const rounds = [5, 40].map(String)
const maxWaitMs = 300_000

/** The server and its clients are processes of their own: what is measured is what the server spends until every client has received everything. */
async function measured(kind) {
  const child = start('./event-fanout-server.js', kind, ...rounds)
  const ends = [child]
  try {
    const { port } = await said(child)
    const clients = start('./event-fanout-clients.js', String(port), ...rounds)
    ends.push(clients)
    await said(clients)
    const results = []
    for (const _ of rounds) {
      child.send('go')
      const { bytes } = await said(clients)
      child.send('heard')
      results.push({ bytes, ...(await said(child)) })
    }
    return results.at(-1)
  } finally {
    for (const one of ends) one.kill('SIGKILL')
  }
}

/** What a process says next. One that ends, or is silent for minutes, is no measurement. */
async function said(child) {
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(maxWaitMs)])
  try {
    const ended = once(child, 'exit', { signal }).then(() => Promise.reject(new Error('the fan-out ended early')))
    const [message] = await Promise.race([once(child, 'message', { signal }), ended])
    return message
  } finally {
    over.abort()
  }
}

/**
 * One event to 5,000 open streams, against a loop that writes one as long to 5,000 plain answers, until all are received; and the memory of a
 * stream.
 */
export async function eventFanout() {
  const [what, memory] = ['an event to 5,000 streams against a plain write loop', 'memory of an open event stream']
  const [reach, room] = [`at most ${maxTimes} ×`, `under ${maxKiB} KiB`]
  if (spawnSync('sh', ['-c', `ulimit -n ${files}`]).status !== 0) {
    const missing = { measured: `needs ${files} open files`, ok: undefined }
    return [
      { what, reach, ...missing },
      { what: memory, reach: room, ...missing },
    ]
  }
  const [ratios, sizes] = [[], []]
  for (let round = 0; round < sized(3, 1); round++) {
    const inTurn = round % 2 ? ['ours', 'plain'] : ['plain', 'ours']
    const spent = {}
    for (const kind of inTurn) spent[kind] = await measured(kind)
    if (Math.abs(spent.ours.bytes / spent.plain.bytes - 1) > 0.05) throw new Error('one variant writes more than the other')
    ratios.push(spent.ours.cpuMs / spent.plain.cpuMs)
    sizes.push(spent.ours.kibPerStream)
  }
  const [ratio, kib] = [ratios, sizes].map((values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)])
  return [
    { what, measured: `${ratio.toFixed(2)} ×`, reach, ok: ratio <= maxTimes },
    { what: memory, measured: `${kib.toFixed(1)} KiB`, reach: room, ok: kib < maxKiB },
  ]
}
