import type { MessagePort } from 'node:worker_threads'
import type { RunResult } from '../../core/modules/index.ts'
import { type Interpreter, loadInterpreter } from './interpreter.ts'
import { runInInterpreter, type SendCall } from './run.ts'
import type { FromRun, Task, ToRun } from './task.ts'

// A thread of the pool: one run at a time. After a number of runs, or after a failure of the interpreter, the thread asks to be ended.

const maxRuns = 500
let interpreter: Promise<Interpreter> | undefined
let runs = 0

/** Called by the pool, by this name. */
export async function runModule({ port, ...task }: Task): Promise<RunResult> {
  const post = (message: FromRun) => port.postMessage(message)
  interpreter ??= loadInterpreter(task.limits.memoryMb)
  const loaded = await interpreter
  post({ type: 'started' })
  const { result, isUsable } = await runInInterpreter(loaded, task, sendOver(port, post)).catch((error: unknown) => ({
    result: interpreterFailed(error, task),
    isUsable: false,
  }))
  const isFull = result.violations.some(({ kind }) => kind === 'memory')
  if (isUsable && !isFull && ++runs < maxRuns) {
    port.close()
    return result
  }
  post({ type: 'last', result })
  return new Promise(() => undefined)
}

function sendOver(port: MessagePort, post: (message: FromRun) => void): SendCall {
  const waiting = new Map<number, (answer: ToRun) => void>()
  port.on('message', (answer: ToRun) => {
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  let id = 0
  return (name, json) =>
    new Promise((resolve) => {
      waiting.set(++id, resolve)
      post({ type: 'call', id, name, json })
    })
}

/** In practice memory: an allocation that fails inside the engine ends it. */
const interpreterFailed = (error: unknown, { limits }: Pick<Task, 'limits'>): RunResult => {
  const message = `more than ${limits.memoryMb} MB of memory (${String((error as Error).message)
    .split('\n')[0]
    ?.slice(0, 200)})`
  return { outcome: 'limit', message, violations: [{ kind: 'memory', message }], ms: 0, interpreterMs: 0, calls: 0, log: [] }
}
