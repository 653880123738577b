import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { api } from '../dist/core/api.js'
import { makeClient } from '../dist/core/contract/index.js'
import { startDaemon, wait } from './daemon-process.js'
import { sized } from './size.js'

const bin = new URL('../bin/tenantry-agent.js', import.meta.url).pathname
// Node.js gives memory back some seconds after the last work.
const settleMs = sized(20_000, 500)

/** Resident memory of an agent without boxes that waits for commands. */
export async function idleAgent() {
  const daemon = await startDaemon(18_435)
  const clientOf = (room, token) =>
    makeClient(api[room], { baseUrl: daemon.url, headers: () => (token ? { authorization: `Bearer ${token}` } : {}) })
  let agent
  try {
    const { token: session } = await clientOf('admin').login({ body: { name: 'anna', password: daemon.password } })
    const { token } = await clientOf('hosts', session).inviteHost({ body: { name: 'host-1' } })
    const env = { PATH: process.env.PATH, TENANTRY_AGENT_STATE_DIR: join(daemon.folder, 'agent') }
    execFileSync(process.execPath, [bin, 'enrol', '--url', daemon.url], { env, input: `${token}\n`, stdio: ['pipe', 'ignore', 'inherit'] })
    agent = spawn(process.execPath, [bin, 'run'], { env, stdio: 'ignore' })
    await wait(settleMs)
    const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${agent.pid}/status`, 'utf8'))?.[1])
    return [
      {
        what: 'idle agent, resident memory',
        measured: `${Math.round((kib * 1024) / 1e6)} MB`,
        reach: 'under 90 MB',
        ok: kib * 1024 < 90e6,
      },
    ]
  } finally {
    agent?.kill('SIGKILL')
    daemon.close()
  }
}
