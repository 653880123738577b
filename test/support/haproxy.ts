import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'
import { aFolder } from './running-daemon.ts'

const program = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find(existsSync)

/** The frontend of its manual, with its default reuse of connections. */
const configuration = (port: number, to: number) => `
defaults
  mode http
  timeout connect 2s
  timeout client 10s
  timeout server 10s
frontend edge
  bind 127.0.0.1:${port}
  default_backend daemon
backend daemon
  server daemon 127.0.0.1:${to}
`

const accepts = (port: number) =>
  new Promise<boolean>((known) => {
    const socket = connect(port, '127.0.0.1').once('connect', () => known(true))
    socket.once('error', () => known(false)).once('connect', () => socket.destroy())
  })

/** A real HAProxy before a server on `to`, until the end of the test. Returns its port. */
export async function startHaproxy(to: number): Promise<number> {
  if (!program) throw new Error('these tests need a real HAProxy: apt-get install -y haproxy')
  const [port, path] = [await freePort(), join(await aFolder('haproxy'), 'haproxy.cfg')]
  await writeFile(path, configuration(port, to))
  const child = spawn(program, ['-db', '-f', path], { stdio: 'ignore' })
  const ended = new Promise<void>((over) => child.once('exit', () => over()))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  for (let tries = 0; tries < 500 && child.exitCode === null; tries++) {
    if (await accepts(port)) return port
    await setTimeout(20)
  }
  throw new Error('HAProxy did not start')
}
