import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createClient } from 'redis'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'

const isThere = () => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Tests that need Redis are skipped where it is not installed. */
export const hasRedis = isThere()

/** A private Redis without persistence. It can be killed, hung and restarted on the same port. */
export type RedisServer = Readonly<{
  url: string
  start(): Promise<void>
  kill(): Promise<void>
  /** Keeps its connections open and answers nothing. */
  hang(): void
  wake(): void
  /** Sends a command directly to the server. */
  say(...command: string[]): Promise<unknown>
}>

export async function aRedisServer(whenOver: (close: () => Promise<void>) => void = onTestFinished): Promise<RedisServer> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  let child: ChildProcess | undefined

  const start = async () => {
    child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      cwd: '/',
    })
    for await (const said of child.stdout ?? []) if (String(said).includes('Ready to accept connections')) break
    child.stdout?.resume()
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const say = async (...command: string[]) => {
    const client = createClient({ url })
    await client.connect()
    try {
      return await client.sendCommand(command)
    } finally {
      client.destroy()
    }
  }
  await start()
  whenOver(kill)
  return { url, start, kill, hang: () => void child?.kill('SIGSTOP'), wake: () => void child?.kill('SIGCONT'), say }
}
