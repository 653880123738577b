import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const mostTimes = 1.5
const mostKiB = 40

const path = (name) => fileURLToPath(new URL(name, import.meta.url))

/** The server and its clients are processes of their own: what is measured is what the server spends. */
async function measured(kind) {
  const child = fork(path('./event-fanout-server.js'), [kind], { execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [{ port }] = await once(child, 'message')
  const clients = fork(path('./event-fanout-clients.js'), [String(port)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  await once(clients, 'message')
  child.send('go')
  const [result] = await once(child, 'message')
  clients.kill('SIGKILL')
  child.kill('SIGKILL')
  return result
}

/** One event to 5,000 open streams, against a loop that writes the same bytes to 5,000 plain answers; and the memory of a stream. */
export async function eventFanout() {
  const ratios = []
  let kib = 0
  for (let round = 0; round < 3; round++) {
    const plain = await measured('plain')
    const ours = await measured('ours')
    ratios.push(ours.cpuMs / plain.cpuMs)
    kib = Math.max(kib, ours.kibPerStream)
  }
  const ratio = ratios.sort((a, b) => a - b)[1]
  return [
    {
      what: 'an event to 5,000 streams against a plain write loop',
      measured: `${ratio.toFixed(2)} ×`,
      reach: `at most ${mostTimes} ×`,
      ok: ratio <= mostTimes,
    },
    { what: 'memory of an open event stream', measured: `${kib.toFixed(1)} KiB`, reach: `under ${mostKiB} KiB`, ok: kib < mostKiB },
  ]
}
