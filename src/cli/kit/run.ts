import { type ExitCode, fold, isProblem, problem } from '../../core/kit/index.ts'
import { traceparent } from '../../node/tracing.ts'
import type { Command } from './command.ts'
import { type Api, chooseUrl, connect, type StoredLogins, storedLogins } from './connection.ts'
import type { Context } from './context.ts'
import type { TypedCommand } from './failure.ts'
import { addressToRepeat, type Globals } from './globals.ts'
import { type Ask, promptOn } from './input.ts'
import { type Style, withAddress } from './style.ts'
import { type Machine, type Output, type Progress, plainProgress, silentProgress, spinner, styleOf } from './terminal.ts'

/** Runs a parsed command and prints its result. */
export async function runParsed(parsed: Parsed, machine: Machine): Promise<ExitCode> {
  const endpoint = machine.env.OTEL_EXPORTER_OTLP_ENDPOINT
  if (!endpoint || parsed.command.local) return runCommand(parsed, machine)
  const { traceCommand } = await import('./trace-command.ts')
  return traceCommand({ endpoint, machine, name: ['tenantry', parsed.typed.noun, parsed.typed.verb].filter(Boolean).join(' ') }, () =>
    runCommand(parsed, machine),
  )
}

async function runCommand({ command, globals, input }: Parsed, machine: Machine): Promise<ExitCode> {
  const context = await contextFor(globals, machine, command.local === true)
  const result = await command.run(context, input as never).catch((error: unknown) => explainNotLoggedIn(context, command, error))
  const shown = await formatted(globals, result, () =>
    folded((style) => command.view(result as never, style, input as never), context.style()),
  )
  const [text, rest = ''] = globals.quiet && command.name === 'list' ? splitAtBlankLine(shown) : [shown]
  if (text !== '') machine.stdout.write(`${text}\n`)
  if (rest !== '') machine.stderr.write(`${rest}\n`)
  return command.exit?.(result as never, input as never) ?? 0
}

/** With `--quiet` the names alone go to stdout, and the cursor of the next page to stderr. */
const splitAtBlankLine = (text: string): [string, string?] => {
  const at = text.indexOf('\n\n')
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 2)]
}

/** The API's UNAUTHENTICATED message is about headers; a person needs the address, or the login that does not count. */
async function explainNotLoggedIn({ byToken, logins, url }: Context, { asUser }: Command, error: unknown): Promise<never> {
  if (!isProblem(error, 'UNAUTHENTICATED')) throw error
  const user = await logins.userAt(url)
  if (asUser && user)
    throw problem('UNAUTHENTICATED', `the login of ${user.name} is no longer valid. fix: tenantry login --tenant ${user.tenant}`)
  if (byToken || (await logins.at(url))) throw error
  const asWhom = user && `this is for operators; you are logged in as ${user.name}, a user of ${user.tenant}`
  throw problem('UNAUTHENTICATED', asWhom ?? `not logged in to ${url}`)
}

const folded = (view: (style: Style) => string, style: Style) => fold(withAddress(view(style), style.repeatedUrl), style.width)

async function formatted({ json, output }: Globals, result: unknown, view: () => string): Promise<string> {
  if (json) return jsonText(result)
  if (output !== 'yaml') return view()
  return result === undefined ? '' : (await import('yaml')).stringify(JSON.parse(JSON.stringify(result))).trimEnd()
}

/** Empty when the API answers without a body. */
const jsonText = (result: unknown) => (result === undefined ? '' : JSON.stringify(result, null, 2))

async function contextFor(globals: Globals, machine: Machine, local: boolean): Promise<Context> {
  const { env, stdin, stdout, stderr, signal, clock } = machine
  const repeatedUrl = addressToRepeat(globals, env)
  const styleFor = (output: Output): Style => ({
    ...styleOf(output, env, globals),
    now: clock.now(),
    url,
    ...(repeatedUrl === undefined ? {} : { repeatedUrl }),
  })
  const logins = storedLogins(env)
  const option = globals.url
  const url = local ? '' : chooseUrl({ option, environment: env.TENANTRY_URL, lastLogin: await logins.last() })
  const headers = () => authorization(env.TENANTRY_TOKEN, logins, url)
  const notify = (line: string) => stderr.write(`${line}\n`)
  const ask = promptOn(machine, globals.yes === true)
  const ports = { clock: machine.answerClock ?? clock, notify, ...(machine.fetch ? { fetch: machine.fetch } : {}) }
  const api = local
    ? ({} as Api)
    : await connect({ baseUrl: url, headers, ...ports, reauthenticate: (connected) => reauthenticate({ api: connected, ask, notify }) })
  return {
    api,
    url,
    logins,
    byToken: Boolean(env.TENANTRY_TOKEN),
    ask,
    yes: globals.yes === true,
    json: globals.json === true || globals.output === 'yaml',
    progress: globals.quiet ? async () => silentProgress : progressFor(machine),
    clock,
    readStdin: async () => (await import('../../node/utf8-file.ts')).readUtf8Stream(stdin),
    stdout,
    stderr,
    style: () => styleFor(stdout),
    notify: (text) => stderr.write(`${folded((style) => (typeof text === 'string' ? text : text(style)), styleFor(stderr))}\n`),
    live: stdout.isTTY === true && !env.CI,
    signal,
  }
}

/** TENANTRY_TOKEN wins over a login. */
async function authorization(token: string | undefined, logins: StoredLogins, url: string): Promise<Record<string, string>> {
  const found = token || (await logins.at(url))?.token
  const trace = traceparent()
  return { ...(found ? { authorization: `Bearer ${found}` } : {}), ...(trace ? { traceparent: trace } : {}) }
}

/** A spinner on a terminal of known size, one line per change elsewhere. */
const progressFor =
  ({ stderr, env, clock }: Machine) =>
  async (firstLine: string): Promise<Progress> => {
    const animated = stderr === (process.stderr as unknown) && stderr.isTTY === true && (stderr.columns ?? 0) > 0 && env.TERM !== 'dumb'
    return animated ? spinner(process.stderr, firstLine, clock) : plainProgress(stderr, firstLine)
  }

/** A parsed command line. */
export type Parsed = Readonly<{ command: Command; typed: TypedCommand; globals: Globals; input: Readonly<Record<string, unknown>> }>

type Deps = Readonly<{ api: Pick<Api, 'admin'>; ask: Ask; notify: (line: string) => void }>

/** Asks for the password again, and for a code where the account has one. False if stdin is not a terminal. Throws WRONG_PASSWORD, LOGIN_FAILED. */
async function reauthenticate({ api, ask, notify }: Deps): Promise<boolean> {
  if (!ask.interactive) return false
  if ((await api.admin.whoAmI()).login === 'provider') {
    notify('Your account logs in at the provider: run `tenantry login --browser`, then repeat the command.')
    return false
  }
  notify('This needs your password again.')
  const password = await ask.password('Password', 'run tenantry login')
  const prove = (totp?: string) => api.admin.reauthenticate({ body: { password, ...(totp === undefined ? {} : { totp }) } })
  try {
    await prove()
  } catch (error) {
    if (!isProblem(error, 'TOTP_REQUIRED')) throw error
    await prove(await ask.text('One-time or recovery code', 'run tenantry login'))
  }
  return true
}
