import { availableParallelism } from 'node:os'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { problem } from '../../core/kit/index.ts'
import { type RunLimits, type RunResult, runLimits, type ServeCall, type Violation } from '../../core/modules/index.ts'
import { Pace } from './pace.ts'
import type { FromRun, Run, Task, ToRun } from './task.ts'

/** The interpreter ends a run by itself at its limits; only what it cannot interrupt lives until the thread is ended. */
const graceMs = 250
const maxWaiting = 1000
/** Memory of a thread beside that of its interpreter. */
const heapMb = 64
/** An entry of a list is a row that the host reads twice and writes as JSON, however small it is: it counts at least this for the pace. */
const entryBytes = 250
/** Calls of one run, before other work of the thread gets its turn. */
const sliceMs = 4

type Options = Readonly<{
  limits?: RunLimits
  /** Runs at once; default: all processors but one. */
  threads?: number
  workerFile?: string
}>

export type Sandbox = Readonly<{
  /** Rejects only if `serve` throws, `signal` aborts, or the pool is full: failures of a module are results. */
  run(run: Run, serve: ServeCall, signal?: AbortSignal): Promise<RunResult>
  close(): Promise<void>
}>

/** A pool of threads, each with an interpreter. Starts no thread before the first run. */
export function openSandbox(options: Options = {}): Sandbox {
  const { limits = runLimits, threads = Math.max(1, availableParallelism() - 1) } = options
  const { workerFile = fileURLToPath(new URL('./worker.js', import.meta.url)) } = options
  let pool: Piscina | undefined
  const open = () => {
    const opened = new Piscina({
      ...{ filename: workerFile, name: 'runModule', minThreads: 1, maxThreads: threads, idleTimeout: 60_000, maxQueue: maxWaiting },
      ...{ env: {}, argv: [], execArgv: [], recordTiming: false },
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
    })
    // A thread that ends without a run, such as one out of memory whose run was ended before: the pool replaces it.
    return opened.on('error', () => undefined)
  }
  return {
    run: (run, serve, signal) => {
      pool ??= open()
      return runOn(pool, { run, limits: { ...limits, ...run.limits }, serve, signal })
    },
    close: async () => void (await pool?.destroy()),
  }
}

type Ordered = Readonly<{ run: Run; limits: RunLimits; serve: ServeCall; signal: AbortSignal | undefined }>

function runOn(pool: Piscina, { run, limits, serve, signal }: Ordered): Promise<RunResult> {
  if (pool.queueSize >= maxWaiting) return Promise.reject(problem('UNAVAILABLE', 'Too many module runs are waiting.'))
  return new Promise<RunResult>((resolve, reject) => {
    const { port1, port2 } = new MessageChannel()
    const thread = new AbortController()
    let timer: NodeJS.Timeout | undefined
    let calls = 0
    let isOver = false
    let turn: Promise<void> = Promise.resolve()
    let spentMs = 0
    const pace = new Pace()
    const queuedMs = performance.now()
    let hostFailure: { cause: unknown } | undefined
    const end = (settle: () => void, { keepThread = false } = {}) => {
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      port1.close()
      if (!keepThread) thread.abort()
      settle()
    }
    const finish = (result: RunResult, keepThread: boolean) =>
      end(() => (hostFailure ? reject(hostFailure.cause) : resolve(result)), { keepThread })
    const aborted = () => end(() => reject(signal?.reason))
    if (signal?.aborted) return aborted()
    signal?.addEventListener('abort', aborted, { once: true })
    const answer = async ({ id, name, json }: Extract<FromRun, { type: 'call' }>): Promise<Readonly<{ reply: ToRun; bytes: number }>> => {
      calls++
      try {
        const { violation, ...answered } = await withViolation(serve(name, argumentOf(json)))
        const text = JSON.stringify(answered)
        return {
          reply: { id, json: text, ...(violation ? { violation } : {}) },
          bytes: Math.max(text.length, entriesOf(answered) * entryBytes),
        }
      } catch (cause) {
        hostFailure ??= { cause }
        return { reply: { id, json: null }, bytes: 0 }
      }
    }
    /** A module that makes many large calls at once holds up nothing else in this thread. */
    const answerInTurn = async (message: Extract<FromRun, { type: 'call' }>): Promise<void> => {
      if (spentMs > sliceMs) {
        await nextTurn()
        spentMs = 0
      }
      if (isOver) return
      const begunMs = performance.now()
      const answering = answer(message)
      spentMs += performance.now() - begunMs
      const { reply, bytes } = await answering
      const waitMs = pace.add(bytes)
      if (waitMs > 0) await sleep(waitMs)
      port1.postMessage(reply)
    }
    port1.on('message', (message: FromRun) => {
      if (message.type === 'started') timer = setTimeout(() => finish(killed(limits, calls), false), limits.wallMs + graceMs)
      else if (message.type === 'last') finish(message.result, false)
      else turn = turn.then(() => answerInTurn(message))
    })
    const task: Task = { ...run, limits, port: port2 }
    pool.run(task, { transferList: [port2], signal: thread.signal }).then(
      (result: RunResult) => finish(result, true),
      (error: unknown) =>
        isOutOfMemory(error) ? finish(outOfMemory(performance.now() - queuedMs, calls), false) : end(() => reject(error)),
    )
  })
}

/** A module may pass what has no JSON, such as a function: the call refuses it as it refuses null. */
function argumentOf(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

const withViolation = async (answer: ReturnType<ServeCall>) => {
  const answered = await answer
  return 'error' in answered ? answered : { ...answered, violation: undefined }
}

const entriesOf = (answered: object): number => ('value' in answered && Array.isArray(answered.value) ? answered.value.length : 0)

const isOutOfMemory = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'

/** The module filled the memory of the thread, outside of the interpreter. */
const outOfMemory = (ms: number, calls: number): RunResult =>
  ended({ kind: 'memory', message: `more than ${heapMb} MB of memory in texts of svc; the thread was ended` }, ms, calls)

/** The interpreter was inside one operation that it cannot interrupt. */
const killed = ({ wallMs }: RunLimits, calls: number): RunResult =>
  ended({ kind: 'wall_time', message: `more than ${wallMs} ms in one operation; the thread was ended` }, wallMs + graceMs, calls)

const ended = (violation: Violation, ms: number, calls: number): RunResult => ({
  ...{ outcome: 'limit', message: violation.message, violations: [violation] },
  ...{ ms, interpreterMs: ms, calls, log: [] },
})
