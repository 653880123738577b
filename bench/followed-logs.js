// CPU of an agent while ten readers follow the logs of ten boxes on a real engine. The daemon is a stub, so that only the agent is measured.
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { readTestbed } from './real-box.js'
import { sized } from './size.js'

const boxes = 10
const linesPerSecond = 10
const settleMs = sized(5_000, 1_500)
const measureMs = sized(30_000, 2_000)
const project = (box) => `bench-logs-${process.pid}-${box}`

/** Ten boxes' live logs: the agent's share of a core. */
export async function followedLogs() {
  const testbed = readTestbed()
  const row = { what: `agent, live logs of ${boxes} boxes (${linesPerSecond} lines/s each)`, reach: 'under 5 % of a core' }
  if (!testbed) return [{ ...row, measured: 'needs the test bed', ok: undefined }]
  const { docker, dockerHost, dockerConfig, images } = testbed
  const run = (...args) =>
    execFileSync(docker, args, { env: { DOCKER_HOST: dockerHost, DOCKER_CONFIG: dockerConfig }, stdio: ['ignore', 'pipe', 'inherit'] })
  const write = `while :; do echo "INFO processed request 12ms GET /_matrix/client/v3/sync 200"; sleep ${1 / linesPerSecond}; done`
  const { server, received, url } = await stubDaemon()
  let agent
  try {
    for (let box = 0; box < boxes; box++)
      run(
        ...['run', '--detach', '--name', project(box), '--entrypoint', 'sh', '--network', 'none'],
        ...['--label', `com.docker.compose.project=${project(box)}`, '--label', 'com.docker.compose.service=synapse'],
        ...['--label', 'com.docker.compose.oneoff=False', images.edge.ref, '-c', write],
      )
    agent = fork(new URL('./followed-logs-agent.js', import.meta.url), [url, dockerHost, ...names()])
    await new Promise((next) => setTimeout(next, settleMs))
    const [before, linesBefore] = [await usageOf(agent), received.lines]
    await new Promise((next) => setTimeout(next, measureMs))
    const [after, lines] = [await usageOf(agent), received.lines - linesBefore]
    const share = (after.cpuMicros - before.cpuMicros) / 1000 / (after.atMs - before.atMs)
    const isComplete = lines > (boxes * linesPerSecond * measureMs) / 1000 / 2
    return [{ ...row, measured: `${(share * 100).toFixed(1)} %, ${lines} lines`, ok: share < 0.05 && isComplete }]
  } finally {
    agent?.kill('SIGKILL')
    server.close()
    server.closeAllConnections()
    run('rm', '--force', ...names())
  }
}

const names = () => Array.from({ length: boxes }, (_, box) => project(box))

async function usageOf(agent) {
  agent.send('usage')
  const [usage] = await once(agent, 'message')
  return usage
}

/** Hands out one command for each box, accepts their lines, and lets every further poll wait. */
async function stubDaemon() {
  const received = { lines: 0 }
  const payloadOf = (box) => ({ slug: project(box), boxId: project(box), ownershipEpoch: 1, services: ['synapse'], lines: 100 })
  const command = (box) => ({
    ...{
      id: `cmd_${box}`,
      kind: 'tenant-box.follow_logs',
      boxId: project(box),
      payload: payloadOf(box),
      leaseToken: 1,
      deadlineMs: 3_600_000,
    },
  })
  let next = 0
  const serverTime = () => new Date().toISOString()
  const times = { keyAgeMs: 0, longPollMs: 25_000, heartbeatMs: 10_000, reconnectSpreadMs: 0 }
  const answers = {
    hello: () => ({ hostId: 'hst_bench', name: 'bench', protocol: 1, serverTime: serverTime(), ...times, disowned: [] }),
    next: () => (next < boxes ? { command: command(next++) } : undefined),
    heartbeat: () => ({ lost: [], serverTime: serverTime() }),
    lines: ({ batches }) => {
      for (const { lines } of batches) received.lines += lines.length
      return { states: batches.map(() => 'accepted') }
    },
  }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const answer = answers[request.url.split('/').at(-1)]?.(JSON.parse(body || '{}'))
    if (answer) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { server, received, url: `http://127.0.0.1:${port}` }
}
