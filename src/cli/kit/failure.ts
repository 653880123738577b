import { type ExitCode, fold, isProblem, type Problem, type ProblemBody, type ProblemCode, plural } from '../../core/kit/index.ts'
import { widthOf } from '../../node/command-line.ts'
import { clean } from './fields.ts'
import type { Globals } from './program.ts'
import { type Paint, paintWith, shorten } from './style.ts'

import { type Machine, usesColour } from './terminal.ts'

/** The command that failed, as words: `['rollouts', 'pause', 'ro_8x…']`. */
export type TypedCommand = Readonly<{
  noun?: string
  verb?: string
  subject?: string
  /** Whose things the noun lists: without it the list cannot be typed. */
  tenant?: string
  nounHasList?: boolean
  nounHasShow?: boolean
  /** TENANTRY_TOKEN is set: it speaks, whoever is logged in. */
  byToken?: boolean
}>

type Advice = (typed: TypedCommand, failure: Problem) => string | undefined

const helpOf: Advice = ({ noun, verb }) => `tenantry ${[noun, verb, '--help'].filter(Boolean).join(' ')}`
const listOf: Advice = ({ noun, nounHasList, tenant }) =>
  nounHasList ? ['tenantry', noun, 'list', tenant].filter(Boolean).join(' ') : undefined
const showOf: Advice = ({ noun, subject, nounHasShow }) => (nounHasShow && subject ? `tenantry ${noun} show ${subject}` : undefined)
const again: Advice = (_, { retryAfterSeconds }) =>
  retryAfterSeconds ? `wait ${plural(retryAfterSeconds, 'second')}, then try again` : 'try again in a moment; tenantry doctor looks closer'
const doctor: Advice = () => 'tenantry doctor'
/** Who logs in while TENANTRY_TOKEN is set is refused again: it wins over every login. */
const logIn: Advice = ({ byToken }) =>
  byToken ? 'TENANTRY_TOKEN is set and wins over every login: set another, or unset it and type tenantry login' : 'tenantry login'
const askForRole: Advice = ({ byToken }) =>
  byToken
    ? 'tenantry whoami shows what TENANTRY_TOKEN may; to come as a person unset it and type tenantry login'
    : 'tenantry whoami shows your role; an admin can change it'

/** The daemon's own words for an address that is none of its own: what stands before it in `--url` is wrong, or the daemon is another version. */
const noSuchPath = /^\/\S+ does not exist/

/** What to type next, per code; a code without an entry has its advice in its message. */
const nextStep: Partial<Record<ProblemCode, Advice>> = {
  USAGE: helpOf,
  VALIDATION: helpOf,
  UNAUTHENTICATED: logIn,
  TOTP_REQUIRED: () => 'tenantry login',
  SETUP_REQUIRED: () => 'tenantry login',
  LOGIN_FAILED: () => 'tenantry login',
  FORBIDDEN: askForRole,
  ACCOUNT_LOCKED: (_, { retryAfterSeconds }) =>
    `wait ${retryAfterSeconds ? plural(Math.ceil(retryAfterSeconds / 60), 'minute') : 'a quarter of an hour'}; on the daemon's machine tenantryd admin unlock ends it at once`,
  NOT_FOUND: (typed, failure) => (noSuchPath.test(failure.message) ? doctor(typed, failure) : listOf(typed, failure)),
  CONFLICT: showOf,
  ALREADY_EXISTS: listOf,
  INVALID_TRANSITION: showOf,
  UNREACHABLE: doctor,
  UNAVAILABLE: again,
  RATE_LIMITED: again,
  CONFIG: () => "set it in the daemon's settings; tenantryd check-config says what is missing",
  HOST_OFFLINE: () => 'tenantry hosts list; on the host: tenantry-agent doctor',
  MANIFEST_INVALID: () => 'mend the file, then tenantry manifest diff <file>',
  PLAN_REFUSED: () => 'mend those boxes, or leave them out: the same command with --skip-refused',
  PLAN_STALE: () => 'tenantry rollouts create makes a new plan',
  AUDIT_BROKEN: () => 'tenantry audit verify --json',
}

const mostDetails = 8

/** What, which field, what next: three short lines (more only when several fields are wrong). Never a stack trace. */
export function explain(error: unknown, typed: TypedCommand, paint: Paint): string {
  if (!isProblem(error))
    return [`${paint.red('error:')} ${faultText(error)}`, 'next:  run it again with TENANTRY_DEBUG=1 and report what it prints'].join('\n')
  const lines = [`${paint.red('error:')} ${clean(error.message)} ${paint.dim(`[${error.code}]`)}`, ...detailLines(error)]
  // A message that names the command to type needs no other beside it.
  const next = /`tenantryd? /.test(error.message) ? undefined : nextStep[error.code]?.(typed, error)
  return [...lines, ...(next ? [`${paint.dim('next: ')} ${next}`] : [])].join('\n')
}

function detailLines({ details = [], violations = [], message }: Problem): string[] {
  // The message of a request with one wrong field already says it, and so does one that names what is wrong in words of its own.
  const clauses = message.split('; ')
  const told = details.filter(
    ({ path, reason }) => !clauses.some((clause) => clause.startsWith(reason)) && !(message.includes(path) && message.includes(reason)),
  )
  const unsaid = violations.filter((violation) => !message.includes(violation))
  const lines = [...told.map(({ path, reason }) => `${path} ${reason}`), ...unsaid].map((line) => `  ${shorten(clean(line), 200)}`)
  return lines.length > mostDetails
    ? [...lines.slice(0, mostDetails), `  and ${lines.length - mostDetails} more (--json lists all)`]
    : lines
}

const faultText = (error: unknown) => `a fault of this program: ${clean(error instanceof Error ? error.message : error)}`

/** The error body for scripts: what the API said, or what it would say. */
export const failureBody = (error: unknown): ProblemBody =>
  isProblem(error) ? error.toBody() : { code: 'INTERNAL', message: faultText(error), retryable: false }

export const exitOf = (error: unknown): ExitCode => (isProblem(error) ? error.exit : 1)

/** Says on stderr what went wrong, to a person, or to a script as one line, the last: progress may stand before it. The exit code. */
export function reportFailure(
  error: unknown,
  typed: TypedCommand,
  globals: Pick<Globals, 'json' | 'color'>,
  { stderr, env, signal }: Machine,
): ExitCode {
  if (env.TENANTRY_DEBUG) stderr.write(`${causes(error).join('\ncaused by ')}\n`)
  if (signal.aborted && !isProblem(error)) stderr.write('stopped by Ctrl-C; what the daemon had begun goes on\n')
  else if (globals.json) stderr.write(`${JSON.stringify(failureBody(error))}\n`)
  else {
    const told = explain(error, { ...typed, byToken: Boolean(env.TENANTRY_TOKEN) }, paintWith(usesColour(stderr, env, !globals.color)))
    stderr.write(`${fold(told, widthOf(stderr, env))}\n`)
  }
  return exitOf(error)
}

function causes(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)]
  return [error.stack ?? error.message, ...(error.cause === undefined ? [] : causes(error.cause))]
}
