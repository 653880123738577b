import { createWriteStream } from 'node:fs'
import { type Duplex, Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { ExecOptions, ExecResult } from '../ports/index.ts'
import type { Connections, Docker, DockerSettings } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { demux } from './streams.ts'
import { volumeOutput } from './volume-output.ts'

/** Maximum retained output when it is not written to a file. */
const keptBytes = 16_000_000

/** `childEnvironment` marks the program, so that a later agent finds it after a kill. */
type Running = Connections & Pick<DockerSettings, 'childEnvironment'>

type Program = Readonly<{ containerId: string; argv: readonly string[] }>

/** Runs a program in a container. A non-zero exit code is a result, not an error. */
export async function execIn(deps: Running, program: Program, options: ExecOptions = {}): Promise<ExecResult> {
  const { stdoutFile, ...others } = options
  const isFile = stdoutFile !== undefined && options.stdin === undefined
  const output = isFile ? await volumeOutput(deps.questions, program.containerId, stdoutFile) : undefined
  if (!output) return streamed(deps, program, options)
  try {
    const ended = await streamed(deps, { ...program, argv: output.writing(program.argv) }, others)
    // Its user may not write to the volume: then it has not begun.
    return (await output.collect()) ? ended : await streamed(deps, program, options)
  } catch (error) {
    throw isProblem(error) || options.signal?.aborted ? error : execProblem(error, program)
  } finally {
    await output.drop()
  }
}

async function streamed(
  { questions, streams, childEnvironment = {} }: Running,
  { containerId, argv }: Program,
  options: ExecOptions,
): Promise<ExecResult> {
  const { stdin, stdoutFile, onStdout, signal } = options
  // A file that cannot be read fails before the program is created; `feed` reports it.
  if (stdin instanceof Readable) stdin.on('error', () => undefined)
  if (signal?.aborted) destroyInput(stdin)
  signal?.throwIfAborted()
  const out = stdoutFile === undefined ? keeper(onStdout) : { stream: createWriteStream(stdoutFile, { mode: 0o600 }), text: () => '' }
  const err = keeper()
  // The pipeline reports stream errors; a late one must not crash the agent.
  out.stream.on('error', () => undefined)
  try {
    const exec = await questions
      .getContainer(containerId)
      .exec({ Cmd: [...argv], Env: variables(childEnvironment), AttachStdin: stdin !== undefined, AttachStdout: true, AttachStderr: true })
    signal?.throwIfAborted()
    const forget = endOnAbort(exec, signal)
    try {
      const stream = await streams
        .getExec(exec.id)
        .start({ hijack: true, stdin: stdin !== undefined, ...(signal ? { abortSignal: signal } : {}) })
      stream.on('error', () => undefined) // `demux` and `feed` report it; a later one has no meaning
      cutOnAbort(stream, signal)
      await Promise.all([demux(stream, out.stream, err.stream), feed(stream, stdin)]).catch(async (error) => {
        // The engine resets the connection of a program that exited before it read all its input.
        if (stdin === undefined || !isCut(error) || !(await hasExited(exec, signal))) throw error
      })
      out.stream.end()
      await finished(out.stream)
    } finally {
      forget()
    }
    const { ExitCode } = await exec.inspect()
    return { exitCode: ExitCode ?? -1, stdout: out.text(), stderr: err.text() }
  } catch (error) {
    out.stream.destroy()
    destroyInput(stdin)
    signal?.throwIfAborted()
    throw execProblem(error, { containerId, argv })
  }
}

/** Added to the container's own variables. */
const variables = (environment: Readonly<Record<string, string>>): string[] =>
  Object.entries(environment).map(([name, value]) => `${name}=${value}`)

/** The program of a command, without the shell that starts it. */
const nameOf = (argv: Program['argv']): string | undefined => (argv[0] === 'sh' && argv[3] === 'sh' && argv[1] === '-c' ? argv[4] : argv[0])

function execProblem(error: unknown, { containerId, argv }: Program) {
  if (hasStatus(error, 404, 409)) return problem('BOX_UNHEALTHY', `Container ${containerId.slice(0, 12)} is not running`, { cause: error })
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
    return problem('DISK_FULL', `No disk space left for the output of ${nameOf(argv)}`, { cause: error })
  return engineProblem(error, `${nameOf(argv)} in ${containerId.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
}

/** Closes an unread input file, which would stay open until the agent exits. */
function destroyInput(stdin: ExecOptions['stdin']): void {
  if (stdin instanceof Readable) stdin.destroy()
}

async function feed(stream: Duplex, stdin: ExecOptions['stdin']): Promise<void> {
  if (stdin === undefined) return
  if (typeof stdin === 'string') return void stream.end(stdin)
  // A program may exit before it has read all input; its exit code decides.
  await pipeline(stdin, stream).catch((error) => {
    if (!isCut(error)) throw error
  })
}

const isCut = ({ code = '' }: NodeJS.ErrnoException): boolean => cuts.has(code)
const cuts = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_UNABLE_TO_PIPE'])

function cutOnAbort(stream: Duplex, signal: AbortSignal | undefined): void {
  if (!signal) return
  const cut = () => void stream.destroy(new Error('aborted'))
  if (signal.aborted) cut()
  signal.addEventListener('abort', cut, { once: true })
  stream.once('close', () => signal.removeEventListener('abort', cut))
}

/** Registered before the start call, because the program may run although the call was aborted. */
function endOnAbort(exec: Docker.Exec, signal: AbortSignal | undefined): () => void {
  const end = () => void endProgram(exec)
  signal?.addEventListener('abort', end, { once: true })
  return () => signal?.removeEventListener('abort', end)
}

const [retryMs, maxAttempts] = [100, 300]

/**
 * Kills the program's process on this host, because closing the stream does not end it. The engine may start it late, so this polls until it
 * runs or has ended.
 */
async function endProgram(exec: Docker.Exec): Promise<void> {
  for (let look = 0; look < maxAttempts; look += 1) {
    const seen = await exec.inspect().catch((error) => (hasStatus(error, 404) ? gone : undefined))
    if (seen?.Running && seen.Pid > 1) return endProcess(seen.Pid)
    if (seen && !seen.Running && seen.ExitCode !== null) return
    await setTimeout(retryMs, undefined, { ref: false })
  }
}

/** True once the program has an exit code; the engine may record it after it closed the connection. */
async function hasExited(exec: Docker.Exec, signal: AbortSignal | undefined): Promise<boolean> {
  for (let attempt = 0; attempt < maxExitReads && signal?.aborted !== true; attempt += 1) {
    const { Running, ExitCode } = await exec.inspect()
    if (!Running && ExitCode !== null) return true
    await setTimeout(retryMs)
  }
  return false
}

const maxExitReads = 20

const gone = { Running: false, Pid: 0, ExitCode: 0 }

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Already ended, or the engine is on another machine.
  }
}

function keeper(onPart?: (part: Buffer) => void) {
  const parts: Buffer[] = []
  let kept = 0
  const stream = new Writable({
    write: (part: Buffer, _, done) => {
      if (kept < keptBytes) parts.push(part)
      kept += part.length
      onPart?.(part)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(parts).toString('utf8') }
}
