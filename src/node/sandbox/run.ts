import { randomFillSync } from 'node:crypto'
import {
  DefaultIntrinsics,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core'
import type { RunResult, Violation } from '../../core/modules/index.ts'
import { readAnswer } from './answer.ts'
import { failureText, guestFor } from './guest.ts'
import type { Interpreter } from './interpreter.ts'
import { Meter } from './meter.ts'
import { resolveImport } from './module-files.ts'
import { Pace } from './pace.ts'
import type { Task, ToRun } from './task.ts'

const stackBytes = 131_072
const jobsAtOnce = 200
const maxLogCharacters = 1000
const maxFailureCharacters = 1000
const entry = 'tenantry:run'

type Answer = Pick<ToRun, 'json' | 'violation'>
/** Sends a call to the host. Never rejects. */
export type SendCall = (name: string, json: string) => Promise<Answer>

/** `isUsable`: the interpreter released everything and can run again. */
type Ended = Readonly<{ result: RunResult; isUsable: boolean }>

/**
 * One run in a fresh runtime and context. Only two things cross the wall: strings, by the one host function, and the final string. Throws if the
 * interpreter itself failed: it must not be used again.
 */
export async function runInInterpreter({ quickjs, memory }: Interpreter, task: Omit<Task, 'port'>, send: SendCall): Promise<Ended> {
  memory.reset()
  const runtime = quickjs.newRuntime()
  const open = new OpenRun(runtime, task, send)
  const result = await open.finish(memory.isShort)
  return { result, isUsable: isReleased(() => open.dispose()) && isReleased(() => runtime.dispose()) }
}

/** Code that was cut off may leave objects behind, and the engine then aborts. */
function isReleased(dispose: () => void): boolean {
  try {
    dispose()
    return true
  } catch {
    return false
  }
}

/** A part of a text keeps the whole text in memory. */
const copyOf = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le')

class OpenRun {
  private readonly meter: Meter
  private readonly context: QuickJSContext
  private readonly pace = new Pace()
  private readonly pending = new Set<QuickJSDeferredPromise>()
  private readonly answered: (Answer & { deferred: QuickJSDeferredPromise })[] = []
  private readonly log: string[] = []
  private readonly violations: Violation[] = []
  private calls = 0
  private hasHostFailed = false
  private onAnswer: () => void = () => undefined
  private result: QuickJSHandle | undefined
  private readonly runtime: QuickJSRuntime
  private readonly task: Omit<Task, 'port'>
  private readonly send: SendCall

  constructor(runtime: QuickJSRuntime, task: Omit<Task, 'port'>, send: SendCall) {
    this.runtime = runtime
    this.task = task
    this.send = send
    this.meter = new Meter(task.limits)
    runtime.setMaxStackSize(stackBytes)
    runtime.setInterruptHandler(() => this.meter.isBroken())
    runtime.setModuleLoader(
      (name) => (Object.hasOwn(task.files, name) ? (task.files[name] as string) : { error: new Error(`${name} does not exist`) }),
      (from, name) => resolveImport(from === entry ? '' : from, name) ?? { error: new Error(`${name} is not a path inside the module`) },
    )
    this.context = runtime.newContext({ intrinsics: { ...DefaultIntrinsics, Date: false } })
  }

  async finish(isMemoryShort: () => boolean): Promise<RunResult> {
    this.meter.inside(() => this.start())
    while (!this.meter.isBroken() && !this.hasHostFailed && this.isPending()) {
      if (this.answered.length > 0) this.meter.inside(() => this.deliver())
      this.meter.inside(() => this.runJobs())
      if (this.answered.length > 0 || this.runtime.hasPendingJob() || !this.isPending()) continue
      if (this.meter.isBroken()) break // by a call that is not answered
      if (this.pending.size === 0) return this.stuck(isMemoryShort())
      await this.waitForAnswer()
    }
    return this.end()
  }

  /** An exception of the module in a job rejects a promise; an error of the job itself is that of an engine without memory. */
  private runJobs(): void {
    const ran = this.runtime.executePendingJobs(jobsAtOnce)
    if (ran.error && !this.meter.isBroken()) this.meter.break('memory', this.memoryText())
    ran.dispose()
  }

  /** Nothing is left to run: the module waits for nothing, or the engine dropped a job because it had no memory for it. */
  private stuck(isMemoryShort: boolean): RunResult {
    if (isMemoryShort) return this.limit({ kind: 'memory', message: this.memoryText() })
    return this.failed('the module never finishes: it waits for a promise that nothing resolves')
  }

  private memoryText = (): string => `more than ${this.task.limits.memoryMb} MB of memory`

  /** Everything that the context has must be released before it, or the runtime ends the process. */
  dispose(): void {
    for (const deferred of this.pending) deferred.dispose()
    this.result?.dispose()
    this.context.dispose()
  }

  private start(): void {
    const { context, task } = this
    const { job, settings, now } = task
    const made = context.evalCode(guestFor(job.type), entry)
    if (made.error) {
      made.dispose()
      return
    }
    const call = context.newFunction('call', (name, json) => this.call(name, json))
    const text = context.newString(
      JSON.stringify({ ...job, settings, now, main: `./${task.main}`, seed: [...randomFillSync(new Uint32Array(4))] }),
    )
    const started = context.callFunction(made.value, context.undefined, call, text)
    for (const handle of [made.value, call, text]) handle.dispose()
    if (started.error) started.dispose()
    else this.result = started.value
  }

  private isPending(): boolean {
    return this.result !== undefined && this.state() === 'pending'
  }

  private state(): string {
    if (!this.result) return 'rejected'
    const state = this.context.getPromiseState(this.result)
    if (state.type === 'fulfilled' && !state.notAPromise) state.value.dispose()
    if (state.type === 'rejected') state.error.dispose()
    return state.type
  }

  private call(nameHandle: QuickJSHandle, jsonHandle: QuickJSHandle): QuickJSHandle {
    const { context, meter, task } = this
    const textOf = (handle: QuickJSHandle) => (context.typeof(handle) === 'string' ? context.getString(handle) : '')
    const [name, json] = [textOf(nameHandle), textOf(jsonHandle)]
    if (name === 'log') {
      if (this.log.length < task.limits.logLines) this.log.push(copyOf(json.slice(0, maxLogCharacters)))
      return context.undefined
    }
    if (++this.calls > task.limits.calls) meter.break('calls', `more than ${task.limits.calls} calls of svc`)
    const bytes = Buffer.byteLength(json)
    if (bytes > task.limits.callBytes)
      meter.break('call_size', `the argument of svc.${name.slice(0, 50)} has more than ${task.limits.callBytes} bytes`)
    else meter.wait(this.pace.add(bytes))
    const deferred = context.newPromise()
    this.pending.add(deferred)
    if (!meter.isBroken())
      void this.send(name, json).then((answer) => {
        this.answered.push({ ...answer, deferred })
        this.onAnswer()
      })
    return deferred.handle
  }

  private deliver(): void {
    for (const { deferred, json, violation } of this.answered.splice(0)) {
      if (violation) this.violations.push(violation)
      if (json === null) this.hasHostFailed = true
      else if (Buffer.byteLength(json) > this.task.limits.callBytes)
        this.meter.break('call_size', `the result of a call of svc has more than ${this.task.limits.callBytes} bytes`)
      else {
        const text = this.context.newString(json)
        deferred.resolve(text)
        text.dispose()
        this.pending.delete(deferred)
        deferred.dispose()
      }
    }
  }

  private async waitForAnswer(): Promise<void> {
    const leftMs = Math.max(0, this.meter.leftMs())
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, leftMs + 1)
      this.onAnswer = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.onAnswer = () => undefined
  }

  private end(): RunResult {
    const { broken } = this.meter
    if (broken) return this.limit(broken)
    if (this.hasHostFailed) return this.failed('the host failed')
    const { text, isError } = this.meter.inside(() => this.resultText())
    if (this.meter.broken) return this.limit(this.meter.broken)
    if (text === undefined || (isError && /^InternalError: out of memory/.test(text)))
      return this.limit({ kind: 'memory', message: this.memoryText() })
    if (isError && /^(?:InternalError: stack overflow|RangeError: Maximum call stack)/.test(text))
      return this.limit({ kind: 'stack', message: `the calls are nested too deep: ${text}` })
    if (isError) return this.failed(text)
    const { answerBytes } = this.task.limits
    if (Buffer.byteLength(text) > answerBytes)
      return this.limit({ kind: 'answer_size', message: `the answer has more than ${answerBytes} bytes` })
    const read = readAnswer(text, this.task.job)
    if ('fault' in read) return this.failed(read.fault)
    if ('tooLarge' in read) return this.limit({ kind: 'answer_size', message: read.tooLarge })
    return { outcome: 'done', ...read.answer, ...this.common() }
  }

  /** The JSON of the answer, or the text of what was thrown; undefined where the engine has no memory left for either. */
  private resultText(): Readonly<{ text: string | undefined; isError: boolean }> {
    const { context, result } = this
    const state = result && context.getPromiseState(result)
    if (state?.type === 'fulfilled' && !state.notAPromise) {
      const text = context.typeof(state.value) === 'string' ? context.getString(state.value) : undefined
      state.value.dispose()
      return { text, isError: false }
    }
    if (state?.type !== 'rejected') return { text: undefined, isError: true }
    const text = this.failureOf(state.error)
    state.error.dispose()
    return { text, isError: true }
  }

  private failureOf(error: QuickJSHandle): string | undefined {
    const { context } = this
    const made = context.evalCode(failureText, entry)
    if (made.error) {
      made.dispose()
      return undefined
    }
    const described = context.callFunction(made.value, context.undefined, error)
    made.value.dispose()
    // The module may have changed what a text is inside: the length is decided here.
    const text = described.error ? undefined : copyOf(context.getString(described.value).slice(0, maxFailureCharacters))
    described.dispose()
    return text
  }

  private common = () => ({
    ms: this.meter.ms(),
    interpreterMs: this.meter.interpreterMs(),
    calls: this.calls,
    log: this.log,
    violations: this.violations,
  })

  private failed = (message: string): RunResult => ({ outcome: 'failed', message, ...this.common() })

  private limit(violation: Violation): RunResult {
    return { outcome: 'limit', message: violation.message, ...this.common(), violations: [...this.violations, violation] }
  }
}
