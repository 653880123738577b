import { createWriteStream } from 'node:fs'
import { type Duplex, Readable, Writable } from 'node:stream'

import { finished, pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { problem } from '../../core/kit/index.ts'
import type { ExecOptions, ExecResult } from '../ports/index.ts'
import type { Connections, Docker, DockerSettings } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { demux } from './streams.ts'

/** What is kept of output that goes to no file; the rest of it is dropped. */
const keptBytes = 16_000_000

/** `childEnvironment`: by what a later agent knows the program, when this one was killed and the program goes on. */
type Running = Connections & Pick<DockerSettings, 'childEnvironment'>

/** Runs a program in a container. Its exit code is an answer, not a failure. */
export async function execIn(
  { questions, streams, childEnvironment = {} }: Running,
  containerId: string,
  argv: readonly string[],
  options: ExecOptions = {},
): Promise<ExecResult> {
  const { stdin, stdoutFile, onStdout, signal } = options
  if (signal?.aborted) letGo(stdin)
  signal?.throwIfAborted()
  const out = stdoutFile === undefined ? keeper(onStdout) : { stream: createWriteStream(stdoutFile, { mode: 0o600 }), text: () => '' }
  const err = keeper()
  // Whoever waits for the stream hears of its failure; one that comes after somebody else's must not end the agent.
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
      cutOnAbort(stream, signal)
      await Promise.all([demux(stream, out.stream, err.stream), feed(stream, stdin)])
      out.stream.end()
      await finished(out.stream)
    } finally {
      forget()
    }
    const { ExitCode } = await exec.inspect()
    return { exitCode: ExitCode ?? -1, stdout: out.text(), stderr: err.text() }
  } catch (error) {
    out.stream.destroy()
    letGo(stdin)
    signal?.throwIfAborted()
    throw execProblem(error, containerId, argv)
  }
}

/** As the engine takes them; the container's own stay beside them. */
const variables = (environment: Readonly<Record<string, string>>): string[] =>
  Object.entries(environment).map(([name, value]) => `${name}=${value}`)

function execProblem(error: unknown, containerId: string, argv: readonly string[]) {
  if (hasStatus(error, 404, 409))
    return problem('BOX_UNHEALTHY', `the container ${containerId.slice(0, 12)} does not run`, { cause: error })
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
    return problem('DISK_FULL', `no space left for the output of ${argv[0]}`, { cause: error })
  return engineProblem(error, `${argv[0]} in ${containerId.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
}

/** A file that nobody came to read stays open for as long as the agent runs. */
function letGo(stdin: ExecOptions['stdin']): void {
  if (stdin instanceof Readable) stdin.destroy()
}

async function feed(stream: Duplex, stdin: ExecOptions['stdin']): Promise<void> {
  if (stdin === undefined) return
  if (typeof stdin === 'string') return void stream.end(stdin)
  // A program may end before it has read all; its exit code tells whether that was well.
  await pipeline(stdin, stream).catch((error: NodeJS.ErrnoException) => {
    if (!hasEnded.has(error.code ?? '')) throw error
  })
}

const hasEnded = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_UNABLE_TO_PIPE'])

function cutOnAbort(stream: Duplex, signal: AbortSignal | undefined): void {
  if (!signal) return
  const cut = () => void stream.destroy(new Error('aborted'))
  if (signal.aborted) cut()
  signal.addEventListener('abort', cut, { once: true })
  stream.once('close', () => signal.removeEventListener('abort', cut))
}

/** From before the engine is asked to start it: an answer that nobody waits for any more may be that of a program that runs. */
function endOnAbort(exec: Docker.Exec, signal: AbortSignal | undefined): () => void {
  const end = () => void endProgram(exec)
  signal?.addEventListener('abort', end, { once: true })
  return () => signal?.removeEventListener('abort', end)
}

const [lookMs, mostLooks] = [100, 300]

/**
 * Ending the stream does not end the program in the container: it is ended by its process on this host. Asked to start one, the engine does so even
 * when nobody listens any more, and a while later: it is looked at until it runs, or has ended.
 */
async function endProgram(exec: Docker.Exec): Promise<void> {
  for (let look = 0; look < mostLooks; look += 1) {
    const seen = await exec.inspect().catch((error) => (hasStatus(error, 404) ? gone : undefined))
    if (seen?.Running && seen.Pid > 1) return endProcess(seen.Pid)
    if (seen && !seen.Running && seen.ExitCode !== null) return
    await setTimeout(lookMs, undefined, { ref: false })
  }
}

const gone = { Running: false, Pid: 0, ExitCode: 0 }

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Ended, or the engine runs on another machine.
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
