import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const bin = new URL('../bin/tenantryd.js', import.meta.url).pathname
export const wait = (ms) => new Promise((next) => setTimeout(next, ms))

const password = 'a long password for benches'

/**
 * A daemon of its own on embedded defaults, with one admin; `close` removes all of it. `seed` fills its database before it starts.
 * @param {number} port
 * @param {{ seed?: (daemon: { databaseUrl: string, url: string, folder: string }) => Promise<unknown>, settings?: Record<string, string> }} [options]
 */
export async function startDaemon(port, { seed, settings = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-bench-'))
  const url = `http://127.0.0.1:${port}`
  const env = {
    PATH: process.env.PATH,
    TENANTRY_LISTEN: `127.0.0.1:${port}`,
    TENANTRY_DATA_DIR: join(folder, 'data'),
    TENANTRY_LOG: 'json',
    TENANTRY_LOG_LEVEL: 'info',
    ...settings,
  }
  writeFileSync(join(folder, 'password'), `${password}\n`, { mode: 0o600 })
  execFileSync(
    process.execPath,
    [bin, 'admin', 'create', '--name', 'anna', '--role', 'admin', '--password-file', join(folder, 'password')],
    { env, stdio: 'ignore' },
  )
  await seed?.({ databaseUrl: `sqlite:${join(folder, 'data', 'tenantry.db')}`, url, folder })
  let child = spawn(process.execPath, [bin, 'serve'], { env, stdio: 'ignore' })
  await untilReady(url)
  /** Starts it once more over what it has; answers how long that took and as which process. */
  const again = async () => {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
    const begunMs = performance.now()
    child = spawn(process.execPath, [bin, 'serve'], { env, stdio: 'ignore' })
    await untilReady(url)
    return { readyMs: performance.now() - begunMs, pid: child.pid }
  }
  const close = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  return { url, pid: child.pid, folder, password, again, close }
}

export async function untilReady(url) {
  for (let n = 0; n < 3000; n++) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await wait(20)
  }
  throw new Error('the daemon does not start')
}

const ticksPerSecond = 100

/** Processor time that a process took so far, in user code and in the kernel. */
export function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

const kibOf = (pid, field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

/** Resident memory of a process, in bytes. */
export const residentBytes = (pid) => kibOf(pid, 'VmRSS') * 1024

/** The most that a process ever had. `resourceUsage().maxRSS` is at least that of the process that started it. */
export const peakBytes = (pid) => kibOf(pid, 'VmHWM') * 1024
