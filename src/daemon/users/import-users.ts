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
import type { UsersDeps } from './deps.ts'
import { enrolUser } from './enrol-user.ts'
import { takenNames } from './users.repo.ts'

type Wanted = Readonly<{
  slug: string
  csv: string
  dryRun: boolean
  fromLine: number
  passwords?: Readonly<Record<string, string>> | undefined
}>
type Tenant = Awaited<ReturnType<typeof existingTenant>>

/** A chat server takes a quarter of a second for one password: a call does what it can in this time and says where it stopped. */
const longestMs = 20_000
const atOnce = 4
const lookedUpAtOnce = 500

/**
 * Makes the users of a file whom nobody has made yet; nobody who exists is changed, so it may be called again with the same file.
 * Throws NOT_FOUND (tenant), VALIDATION (the file as a whole), HOMESERVER_UNREACHABLE when nothing could be done at all.
 */
export async function importUsers(deps: UsersDeps, actor: Actor, wanted: Wanted, signal?: AbortSignal): Promise<ImportReport> {
  const tenant = await existingTenant(deps.db, wanted.slug)
  const { planned, refused } = planImport(deps.roles, readCsv(wanted.csv))
  const due = planned.filter(({ line }) => line >= wanted.fromLine)
  const taken = await takenOf(deps, tenant, due)
  const known = due.filter(({ localpart }) => taken.has(localpart)).map((user) => lineOf(user, 'existed'))
  const fresh = due.filter(({ localpart }) => !taken.has(localpart))
  const made = wanted.dryRun
    ? { ...nothing, lines: fresh.map((user) => lineOf(user, 'would_create')) }
    : await makeAll(deps, actor, tenant, fresh, wanted.passwords ?? {}, signal)
  const { nextLine, broke } = made
  if (broke && made.lines.length === 0 && Object.keys(made.passwords).length === 0) throw broke.error
  const within = [...refused, ...known].filter(({ line }) => line >= wanted.fromLine && (nextLine === null || line < nextLine))
  const lines = [...within, ...made.lines].toSorted((a, b) => a.line - b.line)
  const stopped = broke ? whyOf(broke.error) : null
  return { dryRun: wanted.dryRun, lines, counts: countOutcomes(lines), passwords: made.passwords, nextLine, stopped }
}

const whyOf = (error: unknown): string => (isProblem(error) ? error.message : 'the platform itself failed')

async function takenOf({ db }: UsersDeps, { id }: Tenant, users: readonly PlannedUser[]): Promise<Set<string>> {
  const taken = new Set<string>()
  for (let from = 0; from < users.length; from += lookedUpAtOnce) {
    const names = users.slice(from, from + lookedUpAtOnce).map(({ localpart }) => localpart)
    for (const name of await takenNames(db, id, names)) taken.add(name)
  }
  return taken
}

/** `broke`: why it ended before its time. What was made until then is told all the same: nobody else knows those passwords. */
type Broke = Readonly<{ error: unknown }>
type Made = Readonly<{
  lines: readonly ImportLine[]
  passwords: Record<string, string>
  nextLine: number | null
  broke: Broke | undefined
}>
const nothing: Made = { lines: [], passwords: {}, nextLine: null, broke: undefined }

async function makeAll(
  deps: UsersDeps,
  actor: Actor,
  tenant: Tenant,
  users: readonly PlannedUser[],
  given: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<Made> {
  const until = deps.clock.monotonicMs() + longestMs
  const homeserver = deps.homeservers.of(tenant.id)
  const lines: ImportLine[] = []
  const passwords: Record<string, string> = {}
  for (let from = 0; from < users.length; from += atOnce) {
    const some = users.slice(from, from + atOnce)
    if (signal?.aborted || deps.clock.monotonicMs() >= until) return { ...nothing, lines, passwords, nextLine: some[0]?.line ?? null }
    const results = await Promise.all(some.map((user) => makeOne(deps, actor, tenant, homeserver, user, given)))
    for (const { user, line, password } of results) {
      if (line) lines.push(line)
      if (password !== undefined) passwords[user.localpart] = password
    }
    const failed = results.find(({ broke }) => broke)
    if (failed) return { lines, passwords, nextLine: failed.user.line, broke: failed.broke }
  }
  return { ...nothing, lines, passwords }
}

type One = Readonly<{ user: PlannedUser; line?: ImportLine; password?: string | undefined; broke?: Broke }>

async function makeOne(
  deps: UsersDeps,
  actor: Actor,
  tenant: Tenant,
  homeserver: Homeserver,
  user: PlannedUser,
  given: Readonly<Record<string, string>>,
): Promise<One> {
  const { localpart, displayName } = user
  const own = Object.hasOwn(given, localpart) ? given[localpart] : undefined
  const password = own ?? generatePassword(deps.random)
  let shown: string | undefined
  try {
    const made = await homeserver.createUser({ localpart, password: secret(password), displayName })
    if (isFault(made)) return { user, broke: { error: homeserverProblem(made, tenant.slug) } }
    if (made.kind === 'refused') return { user, line: lineOf(user, 'refused', `the chat server: ${made.reason}`) }
    const chat = made.kind === 'exists' ? 'existed' : 'created'
    if (chat === 'created' && own === undefined) shown = password
    const enrolled = await enrolUser(deps, actor, { ...user, tenant, chat })
    // Another import wrote down whom this one made: the password that holds is this one's.
    if (!enrolled) return { user, line: lineOf(user, chat === 'created' ? 'created' : 'existed'), password: shown }
    if (chat === 'existed') return { user, line: lineOf(user, 'adopted', 'the chat server had the account: its password stays') }
    return { user, line: lineOf(user, 'created'), password: shown }
  } catch (error) {
    return { user, password: shown, broke: { error } }
  }
}

const lineOf = ({ line, localpart }: PlannedUser, outcome: ImportOutcome, reason: string | null = null): ImportLine => ({
  line,
  localpart,
  outcome,
  reason,
})

type Parsed = Readonly<{ record: readonly string[]; info: Readonly<{ lines: number }> }>

/** The rows of a file by its head; commas, semicolons and tabs separate, whichever the head uses. Throws VALIDATION naming the line. */
export function readCsv(csv: string): ImportRow[] {
  const [head, ...rows] = parsed(csv)
  if (!head) throw refused('the file is empty')
  const wrong = headerError(head.record)
  if (wrong) throw refused(wrong)
  if (rows.length > importLimits.lines) throw refused(`the file has ${rows.length} lines: at most ${importLimits.lines}, split it`)
  return rows.map(({ record, info }) => ({ line: info.lines, cells: cellsOf(head.record, record, info.lines) }))
}

function parsed(csv: string): Parsed[] {
  try {
    return parse(csv, {
      bom: true,
      delimiter: delimiterOf(csv),
      info: true,
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: 20_000,
    }) as unknown as Parsed[]
  } catch (error) {
    throw refused((error as CsvError).message)
  }
}

function delimiterOf(csv: string): string {
  const head = csv.split(/\r?\n/, 1)[0] ?? ''
  return [';', '\t'].find((sign) => head.includes(sign)) ?? ','
}

function cellsOf(head: readonly string[], record: readonly string[], line: number): ImportRow['cells'] {
  if (record.length > head.length) throw refused(`line ${line} has ${record.length} cells, and the head names ${head.length}`)
  return Object.fromEntries(head.map((name, index) => [name, record[index] ?? '']))
}

const refused = (reason: string) => problem('VALIDATION', `csv: ${reason}`, { details: [{ path: 'body.csv', reason }] })
