import {
  type ExitCode,
  fold,
  isProblem,
  type Problem,
  type ProblemBody,
  type ProblemCode,
  type ProblemViolation,
  plural,
} from '../../core/kit/index.ts'
import { widthOf } from '../../node/command-line.ts'
import { clean } from './fields.ts'
import { addressToRepeat, type Globals } from './globals.ts'
import { type Paint, paintWith, shorten, withAddress } from './style.ts'

import { type Machine, usesColour } from './terminal.ts'

/** The command that failed. */
export type TypedCommand = Readonly<{
  noun?: string
  verb?: string
  subject?: string
  /** The tenant, which `list` needs as an argument where the noun is per tenant. */
  tenant?: string
  /** The value of `--tenant`, which the commands of that noun and a login need again. */
  ofTenant?: string
  nounHasList?: boolean
  nounHasShow?: boolean
  /** TENANTRY_TOKEN is set and wins over a login. */
  byToken?: boolean
  /** The command acts as a user of a tenant. */
  asUser?: boolean
}>

type Advice = (typed: TypedCommand, failure: Problem) => string | undefined

const helpOf: Advice = ({ noun, verb }) => `tenantry ${[noun, verb, '--help'].filter(Boolean).join(' ')}`
const again = ({ ofTenant }: TypedCommand): string | undefined => ofTenant && `--tenant ${ofTenant}`
const listOf: Advice = (typed) => {
  const { noun, nounHasList, tenant, asUser } = typed
  return nounHasList && !asUser ? ['tenantry', noun, 'list', tenant, again(typed)].filter(Boolean).join(' ') : undefined
}
const showOf: Advice = (typed) => {
  const { noun, subject, nounHasShow, asUser } = typed
  return nounHasShow && subject && !asUser ? ['tenantry', noun, 'show', subject, again(typed)].filter(Boolean).join(' ') : undefined
}
const retry: Advice = (_, { retryAfterSeconds }) =>
  retryAfterSeconds ? `wait ${plural(retryAfterSeconds, 'second')}, then retry` : 'retry in a moment; if it fails again: tenantry doctor'
const doctor: Advice = () => 'tenantry doctor'
/** A login changes nothing while TENANTRY_TOKEN is set. */
const logIn: Advice = ({ byToken, asUser }) =>
  asUser
    ? 'tenantry login --tenant <slug>'
    : byToken
      ? 'TENANTRY_TOKEN is set and overrides your login: replace it, or unset it and run tenantry login'
      : 'tenantry login'
/** A message that names its fix is not about the role. */
const askForRole: Advice = ({ byToken, asUser }, { message }) =>
  message.includes('fix: ')
    ? undefined
    : asUser
      ? message.includes('capability')
        ? 'ask an operator for a role that grants it: tenantry users roles <tenant> <user> <role>'
        : 'ask a user with that role, or an administrator of your tenant'
      : byToken
        ? message.startsWith('API tokens cannot')
          ? 'unset TENANTRY_TOKEN, then tenantry login'
          : 'tenantry whoami shows the role of TENANTRY_TOKEN; to use your own, unset it and run tenantry login'
        : 'tenantry whoami shows your role; an admin can change it with tenantry accounts role'

/** The daemon's message for an unknown path: the path in `--url` is wrong, or the daemon has another version. */
const noSuchPath = /^\/\S+ does not exist/

/** The `next:` line per code; a code without an entry has its advice in the message. */
const nextStep: Partial<Record<ProblemCode, Advice>> = {
  USAGE: helpOf,
  VALIDATION: (typed, failure) => (failure.message.includes('fix: ') ? undefined : helpOf(typed, failure)),
  UNAUTHENTICATED: logIn,
  TOTP_REQUIRED: () => 'tenantry login',
  SETUP_REQUIRED: () => 'tenantry login',
  LOGIN_FAILED: (typed) => ['tenantry login', again(typed)].filter(Boolean).join(' '),
  FORBIDDEN: askForRole,
  ACCOUNT_LOCKED: (_, { retryAfterSeconds }) =>
    `wait ${retryAfterSeconds ? plural(Math.ceil(retryAfterSeconds / 60), 'minute') : '15 minutes'}, or unlock the account on the daemon's machine: tenantryd admin unlock`,
  NOT_FOUND: (typed, failure) => (noSuchPath.test(failure.message) ? doctor(typed, failure) : listOf(typed, failure)),
  CONFLICT: showOf,
  ALREADY_EXISTS: listOf,
  INVALID_TRANSITION: showOf,
  UNREACHABLE: doctor,
  UNAVAILABLE: retry,
  RATE_LIMITED: retry,
  CONFIG: () => "set it in the daemon's settings and restart it; on its machine, tenantryd doctor lists what is missing",
  HOST_OFFLINE: () => 'tenantry hosts list; on the host: tenantry-agent doctor',
  MANIFEST_INVALID: () => 'fix the file, then tenantry manifest diff <file>',
  PLAN_REFUSED: () => 'fix those boxes, or skip them with --skip-refused',
  PLAN_STALE: () => 'tenantry rollouts create (makes a new plan)',
  AUDIT_BROKEN: () => 'tenantry audit verify --json',
}

const maxDetails = 8

/** The error, the fields concerned and the next command, one line each. Never a stack trace. */
export function explain(error: unknown, typed: TypedCommand, paint: Paint): string {
  if (!isProblem(error))
    return [`${paint.red('error:')} ${bugText(error)}`, 'next:  run it again with TENANTRY_DEBUG=1 and report the output'].join('\n')
  const lines = [`${paint.red('error:')} ${clean(error.message)} ${paint.dim(`[${error.code}]`)}`, ...detailLines(error)]
  // A message that names its own command needs no other.
  const next = /(`|fix: )tenantryd? /.test(error.message) ? undefined : nextStep[error.code]?.(typed, error)
  return [...lines, ...(next ? [`${paint.dim('next: ')} ${next}`] : [])].join('\n')
}

function detailLines({ details = [], violations = [], message }: Problem): string[] {
  // Details that the message already contains are not repeated.
  const clauses = message.split('; ')
  const unsaidDetails = details.filter(
    ({ path, reason }) => !clauses.some((clause) => clause.startsWith(reason)) && !(message.includes(path) && message.includes(reason)),
  )
  const unsaidViolations = violations.map(violationLine).filter((violation) => !message.includes(violation))
  const lines = [...unsaidDetails.map(({ path, reason }) => `${path} ${reason}`), ...unsaidViolations].map(
    (line) => `  ${shorten(clean(line), 200)}`,
  )
  return lines.length > maxDetails ? [...lines.slice(0, maxDetails), `  and ${lines.length - maxDetails} more (--json lists all)`] : lines
}

const violationLine = (violation: ProblemViolation): string => {
  if (typeof violation === 'string') return violation
  const { code, message, file, line, column, element } = violation
  return `${[element, file, line, column].filter((part) => part !== undefined && part !== '').join(':')} ${message} (${code})`.trim()
}

const bugText = (error: unknown) => `internal error: ${clean(error instanceof Error ? error.message : error)}`

/** The error body for scripts, as the API would send it. */
export const failureBody = (error: unknown): ProblemBody =>
  isProblem(error) ? error.toBody() : { code: 'INTERNAL', message: bugText(error), retryable: false }

export const exitOf = (error: unknown): ExitCode => (isProblem(error) ? error.exit : 1)

/** Prints an error on stderr, for scripts as one line of JSON (the last line: progress may precede it), and returns the exit code. */
export function reportFailure(
  { stderr, env, signal }: Machine,
  error: unknown,
  { typed, globals }: Readonly<{ typed: TypedCommand; globals: Pick<Globals, 'json' | 'color' | 'url'> }>,
): ExitCode {
  if (env.TENANTRY_DEBUG) stderr.write(`${causes(error).join('\ncaused by ')}\n`)
  if (signal.aborted && !isProblem(error)) stderr.write('stopped by Ctrl-C; work already started on the daemon continues\n')
  else if (globals.json) stderr.write(`${JSON.stringify(failureBody(error))}\n`)
  else {
    const text = explain(error, { ...typed, byToken: Boolean(env.TENANTRY_TOKEN) }, paintWith(usesColour(stderr, env, !globals.color)))
    // The address itself may be wrong, and help needs none.
    const repeated = isProblem(error, 'USAGE') ? undefined : addressToRepeat(globals, env)
    stderr.write(`${fold(withAddress(text, repeated), widthOf(stderr, env))}\n`)
  }
  return exitOf(error)
}

function causes(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)]
  return [error.stack ?? error.message, ...(error.cause === undefined ? [] : causes(error.cause))]
}
