import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compiled } from './compiled-program.ts'

type Ended = Readonly<{ exit: number | null; out: string; err: string }>
export type Started = Readonly<{ ended: Promise<Ended>; stop(signal?: NodeJS.Signals): void; says(text: string): Promise<void> }>

/** `tenantryd` of the present sources as processes of their own, for tests of several processes at once. */
export async function realDaemon(): Promise<(line: readonly string[], env: Record<string, string>, input?: string) => Started> {
  const main = join(await mkdtemp(join(tmpdir(), 'tenantry-program-')), 'main.mjs')
  const program = pathToFileURL(compiled('daemon/program/main.js'))
  await writeFile(main, `const { main } = await import('${program}')\nprocess.exitCode = await main()\n`)
  return (line, env, input = '') => start([main, ...line], env, input)
}

function start(args: readonly string[], env: Record<string, string>, input: string): Started {
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH ?? '', ...env } })
  let [out, err] = ['', '']
  const heard = new Set<() => void>()
  child.stdout.on('data', (text) => {
    out += text
    for (const listener of heard) listener()
  })
  child.stderr.on('data', (text) => {
    err += text
  })
  child.stdin.on('error', () => undefined) // it may end without reading
  child.stdin.end(input)
  const ended = new Promise<Ended>((done) => child.once('close', (exit) => done({ exit, out, err })))
  const says = (text: string) =>
    new Promise<void>((found, missing) => {
      const listener = () => out.includes(text) && found()
      heard.add(listener)
      listener()
      void ended.then(() => missing(new Error(`it ended without "${text}": ${out}${err}`)))
    })
  return { ended, stop: (signal = 'SIGTERM') => child.kill(signal), says }
}
