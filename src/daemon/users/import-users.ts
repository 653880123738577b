import { type CsvError, parse } from 'csv-parse/sync'
import { type Homeserver, isFault } from '../../core/homeserver/index.ts'
import { type Actor, isProblem, problem, secret } from '../../core/kit/index.ts'
import {
  countOutcomes,
  generatePassword,
  headerError,
  type ImportLine,
  type ImportOutcome,
  type ImportReport,
  type ImportRow,
  importLimits,
  type PlannedUser,
  planImport,
} from '../../core/users/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { registerUser } from './create-user.ts'
import type { UsersDeps } from './deps.ts'
import { takenNames } from './users.repo.ts'

type ImportInput = Readonly<{
  slug: string
  csv: string
  dryRun: boolean
  fromLine: number
  passwords?: Readonly<Record<string, string>> | undefined
}>
type Tenant = Awaited<ReturnType<typeof existingTenant>>

type Abortable = Readonly<{ signal?: AbortSignal | undefined }>

/** A chat server takes 250 ms to hash one password, so a call stops after this time and returns where to continue. */
const maxRunMs = 20_000
const maxParallel = 4
const lookupBatch = 500

/**
 * Creates the users of a file that do not exist yet. Existing users are unchanged, so the call can be repeated with the same file. Throws
 * NOT_FOUND (tenant), VALIDATION (the file as a whole), HOMESERVER_UNREACHABLE when nothing was done.
 */
export async function importUsers(deps: UsersDeps & Abortable, actor: Actor, input: ImportInput): Promise<ImportReport> {
  const tenant = await existingTenant(deps.db, input.slug)
  const { planned, refused } = planImport(deps.roles, readCsv(input.csv))
  const due = planned.filter(({ line }) => line >= input.fromLine)
  const taken = await takenOf(deps, tenant, due)
  const existing = due.filter(({ localpart }) => taken.has(localpart)).map((user) => lineOf(user, 'existed'))
  const fresh = due.filter(({ localpart }) => !taken.has(localpart))
  const run = { deps, actor, tenant, homeserver: deps.homeservers.of(tenant.id), passwords: input.passwords ?? {} }
  const made = input.dryRun
    ? { ...nothing, lines: fresh.map((user) => lineOf(user, 'would_create')) }
    : await createAll(run, fresh, deps.signal)
  const { nextLine, failure } = made
  if (failure && made.lines.length === 0 && Object.keys(made.passwords).length === 0) throw failure.error
  const inRange = [...refused, ...existing].filter(({ line }) => line >= input.fromLine && (nextLine === null || line < nextLine))
  const lines = [...inRange, ...made.lines].toSorted((a, b) => a.line - b.line)
  const stopped = failure ? messageOf(failure.error) : null
  return { dryRun: input.dryRun, lines, counts: countOutcomes(lines), passwords: made.passwords, nextLine, stopped }
}

const messageOf = (error: unknown): string => (isProblem(error) ? error.message : 'internal error of the platform')

async function takenOf({ db }: UsersDeps, { id }: Tenant, users: readonly PlannedUser[]): Promise<Set<string>> {
  const taken = new Set<string>()
  for (let from = 0; from < users.length; from += lookupBatch) {
    const names = users.slice(from, from + lookupBatch).map(({ localpart }) => localpart)
    for (const name of await takenNames(db, id, names)) taken.add(name)
  }
  return taken
}

type Failure = Readonly<{ error: unknown }>
/** The partial report is returned on failure too: it contains the only copy of the generated passwords. */
type Created = Readonly<{
  lines: readonly ImportLine[]
  passwords: Record<string, string>
  nextLine: number | null
  failure: Failure | undefined
}>
const nothing: Created = { lines: [], passwords: {}, nextLine: null, failure: undefined }

/** `passwords`: those of the request, by localpart. */
type Run = Readonly<{ deps: UsersDeps; actor: Actor; tenant: Tenant; homeserver: Homeserver; passwords: Readonly<Record<string, string>> }>

async function createAll(run: Run, users: readonly PlannedUser[], signal: AbortSignal | undefined): Promise<Created> {
  const { clock } = run.deps
  const until = clock.monotonicMs() + maxRunMs
  const lines: ImportLine[] = []
  const passwords: Record<string, string> = {}
  for (let from = 0; from < users.length; from += maxParallel) {
    const batch = users.slice(from, from + maxParallel)
    if (signal?.aborted || clock.monotonicMs() >= until) return { ...nothing, lines, passwords, nextLine: batch[0]?.line ?? null }
    const results = await Promise.all(batch.map((user) => createOne(run, user)))
    for (const { user, line, password } of results) {
      if (line) lines.push(line)
      if (password !== undefined) passwords[user.localpart] = password
    }
    const failed = results.find(({ failure }) => failure)
    if (failed) return { lines, passwords, nextLine: failed.user.line, failure: failed.failure }
  }
  return { ...nothing, lines, passwords }
}

type Result = Readonly<{ user: PlannedUser; line?: ImportLine; password?: string | undefined; failure?: Failure }>

async function createOne({ deps, actor, tenant, homeserver, passwords }: Run, user: PlannedUser): Promise<Result> {
  const { localpart, displayName } = user
  const requested = Object.hasOwn(passwords, localpart) ? passwords[localpart] : undefined
  const password = requested ?? generatePassword(deps.random)
  let generated: string | undefined
  try {
    const account = await homeserver.createUser({ localpart, password: secret(password), displayName })
    if (isFault(account)) return { user, failure: { error: homeserverProblem(account, tenant.slug) } }
    if (account.kind === 'refused') return { user, line: lineOf(user, 'refused', `the chat server: ${account.reason}`) }
    const chat = account.kind === 'exists' ? 'existed' : 'created'
    if (chat === 'created' && requested === undefined) generated = password
    const registered = await registerUser(deps, actor, { ...user, tenant, chat })
    // A concurrent import registered the user whose account this one created; the password of this one is valid.
    if (!registered) return { user, line: lineOf(user, chat === 'created' ? 'created' : 'existed'), password: generated }
    if (chat === 'existed') return { user, line: lineOf(user, 'adopted', 'the chat account existed and keeps its password') }
    return { user, line: lineOf(user, 'created'), password: generated }
  } catch (error) {
    return { user, password: generated, failure: { error } }
  }
}

const lineOf = ({ line, localpart }: PlannedUser, outcome: ImportOutcome, reason: string | null = null): ImportLine => ({
  line,
  localpart,
  outcome,
  reason,
})

type ParsedRow = Readonly<{ record: readonly string[]; info: Readonly<{ lines: number }> }>

/** The rows of a file by its header. The header decides whether commas, semicolons or tabs separate. Throws VALIDATION naming the line. */
export function readCsv(csv: string): ImportRow[] {
  const [head, ...rows] = parseRows(csv)
  if (!head) throw invalidCsv('the file is empty')
  const error = headerError(head.record)
  if (error) throw invalidCsv(error)
  if (rows.length > importLimits.lines)
    throw invalidCsv(`the file has ${rows.length} lines, the maximum is ${importLimits.lines}. fix: split it`)
  return rows.map(({ record, info }) => ({ line: info.lines, cells: cellsOf(head.record, record, info.lines) }))
}

function parseRows(csv: string): ParsedRow[] {
  try {
    return parse(csv, {
      bom: true,
      delimiter: delimiterOf(csv),
      info: true,
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: 20_000,
    }) as unknown as ParsedRow[]
  } catch (error) {
    throw invalidCsv((error as CsvError).message)
  }
}

function delimiterOf(csv: string): string {
  const head = csv.split(/\r?\n/, 1)[0] ?? ''
  return [';', '\t'].find((sign) => head.includes(sign)) ?? ','
}

function cellsOf(head: readonly string[], record: readonly string[], line: number): ImportRow['cells'] {
  if (record.length > head.length) throw invalidCsv(`line ${line} has ${record.length} cells, but the header names ${head.length} columns`)
  return Object.fromEntries(head.map((name, index) => [name, record[index] ?? '']))
}

const invalidCsv = (reason: string) => problem('VALIDATION', `csv: ${reason}`, { details: [{ path: 'body.csv', reason }] })
