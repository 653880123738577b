import { type CallAnswer, type RunLimits, type RunResult, runLimits, type ServeCall } from '../../../src/core/modules/index.ts'
import { type Job, openSandbox, type Sandbox } from '../../../src/node/sandbox/index.ts'
import { compiled } from '../../support/compiled-program.ts'

type Options = Readonly<{
  job?: Job
  files?: Record<string, string>
  serve?: ServeCall
  settings?: Record<string, unknown>
  signal?: AbortSignal
}>

export const now = '2026-11-02T10:00:00.000Z'
const event: Job = { type: 'event', event: { type: 'space.created', payload: { spaceId: 'spc_1' } } }
const noCalls: ServeCall = async (name): Promise<CallAnswer> => ({ error: { code: 'UNKNOWN_CALL', message: `no ${name}` } })

/** Opens the real sandbox with its threads. */
export const sandboxWith = (limits: Partial<RunLimits> = {}, threads = 1): Sandbox =>
  openSandbox({ limits: { ...runLimits, ...limits }, threads, workerFile: compiled('node/sandbox/worker.js') })

/** Runs a module of which `code` is index.js. */
export const runCode = (
  sandbox: Sandbox,
  code: string,
  { job = event, files = {}, serve = noCalls, settings = {}, signal }: Options = {},
) => sandbox.run({ files: { 'index.js': code, ...files }, main: 'index.js', job, settings, now }, serve, signal)

/** Runs statements as the body of `handle`; its value is the answer. */
export const answerOf = (sandbox: Sandbox, body: string, options: Options = {}): Promise<RunResult> =>
  runCode(sandbox, `export const handle = async (request, svc) => { ${body} }`, {
    job: { type: 'request', request: { method: 'GET', path: '/' } },
    ...options,
  })
