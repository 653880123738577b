import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { runCommandLine } from '../../src/cli/kit/index.ts'
import { treeFor } from '../../src/cli/nouns.ts'
import { type Clock, type ExitCode, manualClock, type ProblemBody } from '../../src/core/kit/index.ts'
import { systemClock } from '../../src/node/index.ts'
import type { typist } from './typist.ts'

/** A request of the program. */
export type Asked = Readonly<{ method: string; origin: string; path: string; search: string; body: unknown; headers: Headers }>

/** A response of the stub daemon: JSON or a whole response. A list answers one call each, and its last entry all further calls. */
type Answer = unknown | Response | ((asked: Asked) => unknown)
export type Answers = Readonly<Record<string, Answer>>

export type Ran = Readonly<{ exit: ExitCode; stdout: string; stderr: string; asked: readonly Asked[]; configFolder: string }>

type Options = Readonly<{
  answers?: Answers
  env?: Readonly<Record<string, string>>
  stdin?: string
  /** An interactive terminal; the test gives the answers. */
  person?: boolean
  /** A terminal whose person answers the prompts. */
  typist?: Pick<ReturnType<typeof typist>, 'stdin' | 'stderr'>
  /** The columns of the terminal; without it stdout is a pipe. */
  columns?: number
  /** The columns of stderr if they differ from stdout; 0 is a pipe. */
  stderrColumns?: number
  configFolder?: string
  clock?: Clock
  /** For waits of an answer; without it those last as long as they do. */
  answerClock?: Clock
  /** The URL of a running daemon; without it the answers replace one. */
  url?: string
  /** Ctrl-C. */
  signal?: AbortSignal
}>

export const stubUrl = 'http://127.0.0.1:8440'

export const problemAnswer = (status: number, body: ProblemBody, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

/** Runs the real program with a command line against a stub daemon that answers by `METHOD path`. */
export async function tenantry(line: readonly string[], options: Options = {}): Promise<Ran> {
  const configFolder = options.configFolder ?? (await temporaryFolder())
  const asked: Asked[] = []
  const [out, err] = [new Sink(options.columns), new Sink(options.stderrColumns ?? options.columns)]
  const exit = await runCommandLine({ tree: await treeFor(line), version: '9.9.9' }, line, {
    env: { XDG_CONFIG_HOME: configFolder, ...(options.url ? { TENANTRY_URL: options.url } : {}), ...options.env },
    stdin: options.typist?.stdin ?? Object.assign(stdinOf(options.stdin ?? ''), { isTTY: options.person === true }),
    stdout: out,
    stderr: options.typist?.stderr ?? err,
    signal: options.signal ?? new AbortController().signal,
    clock: options.clock ?? manualClock(),
    answerClock: options.answerClock ?? systemClock,
    fetch: options.url ? globalThis.fetch : stubFetch(options.answers ?? {}, asked),
  })
  return { exit, stdout: out.text, stderr: err.text, asked, configFolder }
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Like a stream of Node.js, its `write` requires its object as `this`. */
class Sink {
  text = ''
  readonly rows = 24
  readonly isTTY: boolean
  readonly columns: number | undefined

  constructor(columns: number | undefined) {
    this.isTTY = columns !== undefined && columns > 0
    this.columns = this.isTTY ? columns : undefined
  }

  write(more: string): void {
    this.text += more
  }
}

async function* stdinOf(text: string): AsyncGenerator<string> {
  yield text
}

function stubFetch(answers: Answers, asked: Asked[]): typeof globalThis.fetch {
  const given = new Map<string, number>()
  return async (input, init) => {
    const url = new URL(String(input))
    const one: Asked = {
      method: init?.method ?? 'GET',
      origin: url.origin,
      path: url.pathname,
      search: url.search,
      body: init?.body ? JSON.parse(String(init.body)) : undefined,
      headers: new Headers(init?.headers),
    }
    asked.push(one)
    const key = `${one.method} ${one.path}`
    if (!(key in answers)) throw Object.assign(new TypeError('fetch failed'), { cause: new Error(`nothing answers ${key}`) })
    const times = given.get(key) ?? 0
    given.set(key, times + 1)
    const answer = answers[key]
    const turn = Array.isArray(answer) ? answer[Math.min(times, answer.length - 1)] : answer
    if (typeof turn !== 'function') return asResponse(turn instanceof Response ? turn.clone() : turn)
    return abortable(Promise.resolve(turn(one)), init?.signal).then(asResponse)
  }
}

/** Like `fetch`, rejects once the signal aborts. */
const abortable = <Value>(answer: Promise<Value>, signal: AbortSignal | null | undefined): Promise<Value> =>
  new Promise((resolve, reject) => {
    answer.then(resolve, reject)
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason))
  })

const asResponse = (answer: unknown): Response =>
  answer instanceof Response
    ? answer
    : answer === undefined
      ? new Response(null, { status: 204 })
      : new Response(JSON.stringify(answer), { status: 200, headers: { 'content-type': 'application/json' } })
