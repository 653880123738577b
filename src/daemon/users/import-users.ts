import { type Homeserver, isFault } from '../../core/homeserver/index.ts'
import { type Actor, isProblem, secret } from '../../core/kit/index.ts'
import {
  countOutcomes,
  generatePassword,
  type ImportLine,
  type ImportOutcome,
  type ImportReport,
  isOwnName,
  type PlannedUser,
  planImport,
} from '../../core/users/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { changeUser } from './change-user.ts'
import { registerUser } from './create-user.ts'
import type { Delegated, UsersDeps } from './deps.ts'
import { readCsv } from './read-csv.ts'
import { type NamedUser, usersNamed } from './users.repo.ts'

type ImportInput = Readonly<{
  slug: string
  csv: string
  dryRun: boolean
  fromLine: number
  passwords?: Readonly<Record<string, string>> | undefined
  update?: readonly 'names'[] | undefined
  ignoreColumns?: boolean | undefined
  emails?: boolean | undefined
}>
type Tenant = Awaited<ReturnType<typeof existingTenant>>

type ImportDeps = UsersDeps & Delegated
type Abortable = Readonly<{ signal?: AbortSignal | undefined }>

/** A chat server takes 250 ms to hash one password, so a call stops after this time and returns where to continue. */
const maxRunMs = 20_000
const maxParallel = 4
const lookupBatch = 500

/**
 * Creates the users of a file that do not exist yet, and with `update` corrects the names of those that do. Anything else of existing users is
 * unchanged, so the call can be repeated with the same file. Throws NOT_FOUND (tenant), VALIDATION (the file as a whole), HOMESERVER_UNREACHABLE
 * when nothing was done.
 */
export async function importUsers(deps: ImportDeps & Abortable, actor: Actor, input: ImportInput): Promise<ImportReport> {
  const { dryRun, fromLine, passwords = {}, update = [], ignoreColumns = false, emails = false } = input
  const tenant = await existingTenant(deps.db, input.slug)
  const { rows, notes } = readCsv(input.csv, { ignoreColumns, emails })
  const { planned, refused } = planImport(deps.roles, rows)
  const due = planned.filter(({ line }) => line >= fromLine)
  const existing = await existingOf(deps, tenant, due)
  const how = { slug: tenant.slug, updateNames: update.includes('names'), delegated: deps.delegated }
  const works = due.map((user) => workFor(user, existing.get(user.localpart), how))
  const run = { deps, actor, tenant, homeserver: deps.homeservers.of(tenant.id), passwords }
  const done = dryRun ? { ...nothing, lines: works.map(previewOf) } : await workAll(run, works, deps.signal)
  const { nextLine, failure } = done
  if (failure && !done.hasChanged && Object.keys(done.passwords).length === 0) throw failure.error
  const inRange = refused.filter(({ line }) => line >= fromLine && (nextLine === null || line < nextLine))
  const lines = [...inRange, ...done.lines].toSorted((a, b) => a.line - b.line)
  const stopped = failure ? messageOf(failure.error) : null
  return { dryRun, lines, counts: countOutcomes(lines), notes: [...notes], passwords: done.passwords, nextLine, stopped }
}

const messageOf = (error: unknown): string => (isProblem(error) ? error.message : 'internal error of the platform')

async function existingOf({ db }: Pick<UsersDeps, 'db'>, { id }: Tenant, users: readonly PlannedUser[]): Promise<Map<string, NamedUser>> {
  const existing = new Map<string, NamedUser>()
  for (let from = 0; from < users.length; from += lookupBatch) {
    const names = users.slice(from, from + lookupBatch).map(({ localpart }) => localpart)
    for (const user of await usersNamed(db, id, names)) existing.set(user.localpart, user)
  }
  return existing
}

/** The work of an import on one user. `line`: why there is none. */
type Work = Readonly<{ user: PlannedUser } & ({ kind: 'create' } | { kind: 'rename'; reason: string } | { kind: 'none'; line: ImportLine })>

type How = Delegated & Readonly<{ slug: string; updateNames: boolean }>

function workFor(user: PlannedUser, found: NamedUser | undefined, { slug, updateNames, delegated }: How): Work {
  const none = (outcome: ImportOutcome, reason: string | null): Work => ({ kind: 'none', user, line: lineOf(user, outcome, reason) })
  const refusal = found ? undefined : delegated?.refusalOfRoles(user.roles)
  if (refusal !== undefined) return none('refused', refusal)
  if (!found) return { kind: 'create', user }
  if (found.status === 'erased')
    return none('erased', 'a user of this name was erased; the name is not given out again. fix: choose another username')
  if (found.status === 'disabled') {
    const command = delegated ? 'enable it' : `\`tenantry users enable ${slug} ${user.localpart}\``
    return none('disabled', `this user is disabled. fix: ${command}; for another person choose another username`)
  }
  const isNamed = user.displayName === null || user.displayName === found.displayName
  if (isNamed) return none('existed', null)
  const [former, name] = [JSON.stringify(found.displayName ?? ''), JSON.stringify(user.displayName)]
  if (!updateNames) return none('existed', `has the name ${former}, in the file ${name}`)
  const forbidden = delegated?.refusalOfUser(found)
  return forbidden === undefined ? { kind: 'rename', user, reason: `name ${former} becomes ${name}` } : none('refused', forbidden)
}

const previewOf = (work: Work): ImportLine =>
  work.kind === 'none'
    ? work.line
    : work.kind === 'create'
      ? lineOf(work.user, 'would_create')
      : lineOf(work.user, 'would_update', work.reason)

type Failure = Readonly<{ error: unknown }>
/** The partial report is returned on failure too: it contains the only copy of the generated passwords. */
type Done = Readonly<{
  lines: readonly ImportLine[]
  hasChanged: boolean
  passwords: Record<string, string>
  nextLine: number | null
  failure: Failure | undefined
}>
const nothing: Done = { lines: [], hasChanged: false, passwords: {}, nextLine: null, failure: undefined }

/** `passwords`: those of the request, by localpart. */
type Run = Readonly<{ deps: ImportDeps; actor: Actor; tenant: Tenant; homeserver: Homeserver; passwords: Readonly<Record<string, string>> }>

async function workAll(run: Run, works: readonly Work[], signal: AbortSignal | undefined): Promise<Done> {
  const { clock } = run.deps
  const until = clock.monotonicMs() + maxRunMs
  const lines: ImportLine[] = works.flatMap((work) => (work.kind === 'none' ? [work.line] : []))
  const before = (nextLine: number | null) => lines.filter(({ line }) => nextLine === null || line < nextLine)
  const passwords: Record<string, string> = {}
  const changing = works.filter(({ kind }) => kind !== 'none')
  let hasChanged = false
  for (let from = 0; from < changing.length; from += maxParallel) {
    const batch = changing.slice(from, from + maxParallel)
    const [first] = batch
    if (first && (signal?.aborted || clock.monotonicMs() >= until))
      return { ...nothing, lines: before(first.user.line), passwords, nextLine: first.user.line }
    const results = await Promise.all(
      batch.map((work) => (work.kind === 'rename' ? renameOne(run, work.user, work.reason) : createOne(run, work.user))),
    )
    for (const { user, line, password } of results) {
      if (line) lines.push(line)
      hasChanged ||= line !== undefined
      if (password !== undefined) passwords[user.localpart] = password
    }
    const failed = results.find(({ failure }) => failure)
    if (failed) {
      const nextLine = failed.user.line
      const after = results.flatMap(({ line }) => (line && line.line > nextLine ? [line] : []))
      return { lines: [...before(nextLine), ...after], hasChanged, passwords, nextLine, failure: failed.failure }
    }
  }
  return { ...nothing, lines, passwords }
}

type Result = Readonly<{ user: PlannedUser; line?: ImportLine; password?: string | undefined; failure?: Failure }>

async function renameOne({ deps, actor, tenant }: Run, user: PlannedUser, reason: string): Promise<Result> {
  try {
    await changeUser(deps, actor, { slug: tenant.slug, localpart: user.localpart, displayName: user.displayName })
    return { user, line: lineOf(user, 'updated', reason) }
  } catch (error) {
    return { user, failure: { error } }
  }
}

async function createOne({ deps, actor, tenant, homeserver, passwords }: Run, user: PlannedUser): Promise<Result> {
  const { localpart, displayName } = user
  const requested = Object.hasOwn(passwords, localpart) ? passwords[localpart] : undefined
  if (requested !== undefined && isOwnName(requested, [localpart, displayName, tenant.slug]))
    return { user, line: lineOf(user, 'refused', 'the password must not be the name of the user or of the organisation') }
  const password = requested ?? generatePassword(deps.random)
  let generated: string | undefined
  try {
    const account = await homeserver.createUser({ localpart, password: secret(password), displayName })
    if (isFault(account)) return { user, failure: { error: homeserverProblem(account, tenant.slug) } }
    if (account.kind === 'refused') return { user, line: lineOf(user, 'refused', `the chat server: ${account.reason}`) }
    const chat = account.kind === 'exists' ? 'existed' : 'created'
    if (chat === 'created' && requested === undefined) generated = password
    const registered = await registerUser(deps, actor, { ...user, tenant, chat })
    if (registered && registered.invitedUntil !== null) return { user, line: lineOf(user, 'created', 'invited by mail') }
    // A concurrent import registered the user whose account this one created; the password of this one is valid.
    if (!registered) return { user, line: lineOf(user, chat === 'created' ? 'created' : 'existed'), password: generated }
    if (chat === 'existed') return { user, line: lineOf(user, 'adopted', 'the chat account existed and keeps its password') }
    return { user, line: lineOf(user, 'created'), password: generated }
  } catch (error) {
    return { user, password: generated, failure: { error } }
  }
}

const lineOf = ({ line, localpart, displayName }: PlannedUser, outcome: ImportOutcome, reason: string | null = null): ImportLine => ({
  line,
  localpart,
  displayName,
  outcome,
  reason,
})
