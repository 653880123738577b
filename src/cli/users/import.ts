import { isProblem, type Problem, plural, problem } from '../../core/kit/index.ts'
import type { ImportLine, ImportReport } from '../../core/users/index.ts'
import { assertConfirmed, type Context, command, flag, oneOf, text } from '../kit/index.ts'
import { readUsersFile } from './read-users-file.ts'
import { importView, readingView } from './users.view.ts'

export const importFile = command('import <tenant> <file>', 'Import users from CSV (username, displayName, roles, locale)', {
  options: {
    dryRun: flag('--dry-run', 'show what would change'),
    passwords: text('--passwords <file>', 'new file for the generated passwords (mode 0600)'),
    update: oneOf('--update <what>', 'also correct the names of existing users', ['names']),
    emails: flag('--emails', 'store the column of mail addresses'),
    ignoreColumns: flag('--ignore-columns', 'ignore columns that an import does not use'),
    encoding: text('--encoding <name>', 'encoding of the file; default: recognised'),
    report: text('--report <file>', 'write all lines to a CSV file'),
  },
  run: async (context, { tenant, file, dryRun, passwords, update, emails, ignoreColumns, encoding, report }): Promise<ImportReport> => {
    const read = await readUsersFile(file, encoding)
    if (!dryRun && passwords === undefined) throw problem('USAGE', 'pass --passwords <file> for the generated passwords, or --dry-run')
    const flags = { ...(emails ? { emails } : {}), ...(ignoreColumns ? { ignoreColumns } : {}) }
    const body = { csv: read.csv, ...(update ? { update: [update] } : {}), ...flags }
    const preview = await context.api.users.importUsers({ params: { slug: tenant }, body: { ...body, dryRun: true } })
    context.notify(() => readingView(preview, read.encoding))
    const result = passwords === undefined || dryRun ? preview : await importAll(context, { tenant, body, preview, passwords })
    if (report !== undefined) await writeReport(report, result.lines)
    return result
  },
  view: importView,
  exit: ({ counts }) => (counts.refused + counts.erased + counts.disabled > 0 ? 1 : 0),
  examples: [
    'import anna-schule users.csv --dry-run',
    'import anna-schule users.csv --passwords passwords.csv --report report.csv',
    'import anna-schule users.csv --update names --dry-run',
  ],
})

type ImportRequest = Readonly<{ csv: string; update?: 'names'[]; emails?: boolean; ignoreColumns?: boolean }>
type ImportInput = Readonly<{ tenant: string; body: ImportRequest; preview: ImportReport; passwords: string }>

/**
 * Passwords are generated and written to disk before the first user is created, so that no created user has an unknown password.
 * The daemon imports in batches; each call continues where the last one stopped.
 */
async function importAll(context: Context, { tenant, body, preview, passwords: file }: ImportInput): Promise<ImportReport> {
  const fresh = preview.lines.filter(({ outcome }) => outcome === 'would_create')
  const changes = [
    ...(fresh.length > 0 ? [`create ${plural(fresh.length, 'user')}`] : []),
    ...(preview.counts.would_update > 0 ? [`correct ${plural(preview.counts.would_update, 'name')}`] : []),
  ].join(' and ')
  if (changes !== '') await assertConfirmed(context.ask, `${changes.replace(/^./, (letter) => letter.toUpperCase())} in ${tenant}?`)
  const passwords = await generatePasswords(fresh)
  await createPasswordFile(file, passwords)
  const reports = await importInBatches(context, tenant, { ...body, passwords }).catch((error) => {
    throw isProblem(error) ? unfinished(error, file) : error
  })
  const report = mergeReports(reports)
  const localparts = localpartsWithPassword(reports)
  await replacePasswordFile(file, Object.fromEntries(Object.entries(passwords).filter(([localpart]) => localparts.has(localpart))))
  return report
}

/**
 * The users whose passwords stay in the file: created ones, and adopted ones after an interrupted batch, because that batch may have created
 * the account without reporting it.
 */
function localpartsWithPassword(reports: readonly ImportReport[]): ReadonlySet<string> {
  const lines = reports.flatMap((report, batch) =>
    report.lines.filter(({ outcome }) => outcome === 'created' || (outcome === 'adopted' && reports[batch - 1]?.stopped)),
  )
  return new Set(lines.map(({ localpart }) => localpart))
}

type Batches = ImportRequest & Readonly<{ passwords: Readonly<Record<string, string>> }>

async function importInBatches({ api, progress, clock, signal }: Context, slug: string, input: Batches): Promise<ImportReport[]> {
  const spinner = await progress(`creating users in ${slug}`)
  const reports: ImportReport[] = []
  try {
    let failures = 0
    for (let fromLine: number | null = 1; fromLine !== null; ) {
      const report: ImportReport = await api.users.importUsers({ params: { slug }, body: { ...input, dryRun: false, fromLine } })
      reports.push(report)
      failures = report.stopped && report.nextLine === fromLine ? failures + 1 : 0
      if (failures >= maxFailuresPerLine) throw problem('UNAVAILABLE', `line ${fromLine} failed: ${report.stopped}`)
      fromLine = report.nextLine
      if (fromLine !== null) spinner.update(`creating users in ${slug}: line ${fromLine}${report.stopped ? `, ${report.stopped}` : ''}`)
      if (report.stopped) await clock.sleep(waitMs, signal)
      signal.throwIfAborted()
    }
    return reports
  } finally {
    spinner.stop()
  }
}

const waitMs = 10_000
/** Ten minutes of retries: an update of the chat server takes minutes, not hours. */
const maxFailuresPerLine = 60

const unfinished = (error: Problem, file: string): Problem =>
  problem(
    error.code,
    `${error.message}; ${file} holds the passwords of the users created before. fix: run the command again with another --passwords file`,
  )

async function generatePasswords(fresh: readonly ImportLine[]): Promise<Record<string, string>> {
  const [{ systemRandom }, { generatePassword }] = await Promise.all([import('../../node/index.ts'), import('../../core/users/index.ts')])
  return Object.fromEntries(fresh.map(({ localpart }) => [localpart, generatePassword(systemRandom)]))
}

const passwordLines = async (passwords: Readonly<Record<string, string>>): Promise<string> => {
  const { csvLines } = await import('../../core/users/index.ts')
  return csvLines([['username', 'password'], ...Object.entries(passwords)])
}

/** Mode 0600. Never overwrites a file: it may hold the only copy of other passwords. */
async function createPasswordFile(file: string, passwords: Readonly<Record<string, string>>): Promise<void> {
  const { open } = await import('node:fs/promises')
  const handle = await open(file, 'wx', 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw problem('USAGE', `cannot create ${file} (${code}); pass --passwords a new file`)
  })
  try {
    await handle.chmod(0o600)
    await handle.writeFile(await passwordLines(passwords))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function replacePasswordFile(file: string, passwords: Readonly<Record<string, string>>): Promise<void> {
  const { writeFileAtomic } = await import('../../node/index.ts')
  await writeFileAtomic(file, await passwordLines(passwords), { mode: 0o600 })
}

async function writeReport(file: string, lines: readonly ImportLine[]): Promise<void> {
  const { csvLines } = await import('../../core/users/index.ts')
  const { writeFileAtomic } = await import('../../node/index.ts')
  const rows = lines.map(({ line, localpart, outcome, reason }) => [line, localpart, outcome, reason])
  await writeFileAtomic(file, csvLines([['line', 'username', 'outcome', 'reason'], ...rows]), { mode: 0o600 })
}

/** Merges the reports of all batches. The first outcome of a line counts: a repeated line finds its own work. */
function mergeReports(reports: readonly ImportReport[]): ImportReport {
  const lines = new Map<number, ImportLine>()
  for (const line of reports.flatMap((report) => report.lines)) if (!lines.has(line.line)) lines.set(line.line, line)
  const all = [...lines.values()].toSorted((a, b) => a.line - b.line)
  const counts = { ...(reports[0] as ImportReport).counts }
  for (const outcome of Object.keys(counts) as (keyof typeof counts)[])
    counts[outcome] = all.filter((line) => line.outcome === outcome).length
  return { ...(reports.at(-1) as ImportReport), lines: all, counts }
}
