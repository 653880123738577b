import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

type Ended = Readonly<{ exit: number | null; out: string; err: string }>
export type Started = Readonly<{ ended: Promise<Ended>; stop(signal?: NodeJS.Signals): void; says(text: string): Promise<void> }>

/**
 * `tenantryd` of the present sources as processes of their own, for tests of several processes at once. It is compiled without a type check,
 * which takes two seconds; the console is that of the last build.
 */
export async function realDaemon(): Promise<(line: readonly string[], env: Record<string, string>, input?: string) => Started> {
  const root = await mkdtemp(join(tmpdir(), 'tenantry-program-'))
  for (const name of ['config', 'node_modules', 'package.json']) await symlink(resolve(name), join(root, name))
  const flags = ['-p', 'tsconfig.build.json', '--noCheck', '--sourceMap', 'false', '--outDir', join(root, 'dist')]
  execFileSync('node_modules/.bin/tsc', flags)
  await symlink(resolve('dist/console'), join(root, 'dist/console'))
  const main = join(root, 'main.js')
  await writeFile(main, "const { main } = await import('./dist/daemon/program/main.js')\nprocess.exitCode = await main()\n")
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
