import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startDaemon } from './daemon-process.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const port = 18_447
const maxSeconds = 60
/** Ten streams for each user, as many as a user may have; one address for each school. */
const [schools, usersPerSchool, perUser] = sized([50, 20, 10], [2, 3, 2])
const perAddress = usersPerSchool * perUser
const streams = schools * perAddress
/** Each of the two processes has one for each stream. */
const files = streams + 1000
const maxWaitMs = 600_000

/** Open event streams through a restart of the daemon: the time from its readiness until the last stream is open again. */
export async function streamRestart() {
  const what = `${streams.toLocaleString('en')} event streams of ${schools} addresses, all open again after a restart of the daemon`
  const reach = `within ${maxSeconds} s`
  if (spawnSync('sh', ['-c', `ulimit -n ${files}`]).status !== 0)
    return [{ what, reach, measured: `needs ${files} open files`, ok: undefined }]
  let users = []
  const seed = async ({ databaseUrl, folder }) => {
    const sizes = { tenants: schools, usersPerTenant: usersPerSchool, spacesPerUser: 1, tasksPerUser: 1 }
    users = await seedSchools({ databaseUrl, dataDir: join(folder, 'data') }, sizes)
  }
  const daemon = await startDaemon(port, { seed, settings: { TENANTRY_TRUSTED_PROXIES: '127.0.0.1' } })
  const words = [process.execPath, fileURLToPath(new URL('stream-restart-clients.js', import.meta.url)), String(port), String(perAddress)]
  const clients = spawn('sh', ['-c', `ulimit -n ${files}; exec "$0" "$@"`, ...words], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    await once(clients, 'message')
    // All streams of a user are of one address, as those of its school.
    const ofStreams = users.flatMap((user) => Array(perUser).fill(user))
    clients.send({ users: ofStreams, streams })
    await until(clients, true)
    const lost = until(clients, false)
    await daemon.again()
    const begunMs = performance.now()
    await lost
    const { statuses } = await until(clients, true)
    const seconds = (performance.now() - begunMs) / 1000
    const others = Object.keys(statuses).filter((status) => status !== '200')
    return [
      {
        what,
        reach,
        measured: `${seconds.toFixed(1)} s${others.length > 0 ? `, with answers ${others}` : ''}`,
        ok: seconds <= maxSeconds && others.length === 0,
      },
    ]
  } finally {
    clients.kill('SIGKILL')
    daemon.close()
  }
}

/** Waits until all streams are open, or one is not. */
async function until(clients, isFull) {
  for (;;) {
    const [message] = await once(clients, 'message', { signal: AbortSignal.timeout(maxWaitMs) })
    if (message.isFull === isFull) return message
  }
}
