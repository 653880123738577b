import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'

/** The folder of the built programs: of this checkout, or of another release. */
const thisRelease = resolve(import.meta.dirname, '../../..')
const bin = (release: string, name: string) => join(release, 'bin', `${name}.js`)

export type Environment = Readonly<Record<string, string>>
type ProgramName = 'tenantryd' | 'tenantry-agent' | 'tenantry'

/** A long-running program of ours that tests start, stop, kill and start again, also of another release. Its output is kept in a file. */
export type Program = Readonly<{
  start(release?: string): void
  kill(signal?: NodeJS.Signals): Promise<void>
  running(): boolean
  output(): string
}>

export function program(name: ProgramName, args: readonly string[], env: Environment, logFile: string): Program {
  let child: ChildProcess | undefined
  const start = (release = thisRelease) => {
    const log = openSync(logFile, 'a')
    // A group of its own: a signal of the test runner does not reach it, and `kill` reaches only the program itself.
    child = spawn(process.execPath, [bin(release, name), ...args], {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
      stdio: ['ignore', log, log],
      detached: true,
    })
    closeSync(log)
  }
  const running = () => child !== undefined && child.exitCode === null && child.signalCode === null
  const kill = async (signal: NodeJS.Signals = 'SIGTERM') => {
    const victim = child
    if (!victim || !running()) return
    const gone = new Promise((done) => victim.once('exit', done))
    victim.kill(signal)
    await gone
  }
  return { start, kill, running, output: () => readFileSync(logFile, 'utf8') }
}

export type Ran = Readonly<{ exitCode: number; stdout: string; stderr: string; json<T>(): T }>

/** Runs a program to its end. A failure is an answer too: look at `exitCode`. */
export async function run(name: ProgramName, args: readonly string[], env: Environment, release = thisRelease): Promise<Ran> {
  const result = await execa(process.execPath, [bin(release, name), ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    extendEnv: false,
    reject: false,
    timeout: 300_000,
    stdin: 'ignore',
  })
  const stdout = result.stdout as string
  return { exitCode: result.exitCode ?? -1, stdout, stderr: result.stderr as string, json: () => JSON.parse(stdout) }
}

/**
 * Asks again until the answer is there. It waits for other processes, whose clocks no test can move. A question that gets no answer at all within
 * `answerMs` is logged and retried: one lost connection must not hold a file for ever.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  { timeoutMs = 300_000, everyMs = 250, answerMs = 120_000 } = {},
): Promise<T> {
  const end = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < end) {
    try {
      const answer = await withinTime(ask(), answerMs, `no answer within ${answerMs / 1000} s to whether ${what}`)
      if (answer) return answer
    } catch (error) {
      last = error
    }
    await new Promise((next) => setTimeout(next, everyMs))
  }
  throw new Error(`waited ${timeoutMs / 1000} s in vain until ${what}`, { cause: last })
}

async function withinTime<T>(answer: Promise<T>, ms: number, otherwise: string): Promise<T> {
  const late = new AbortController()
  const limit = sleep(ms, undefined, { signal: late.signal, ref: false }).then(() => {
    process.stderr.write(`${otherwise}\n`)
    throw new Error(otherwise)
  })
  limit.catch(() => undefined)
  return Promise.race([answer, limit]).finally(() => late.abort())
}
