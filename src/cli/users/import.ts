import { isProblem, type Problem, plural, problem } from '../../core/kit/index.ts'
import type { ImportLine, ImportReport } from '../../core/users/index.ts'
import { assertConfirmed, type Context, command, flag, readTextFile, text } from '../kit/index.ts'
import { importView } from './users.view.ts'

export const importFile = command(
  'import <tenant> <file>',
  'Make the users of a CSV file (columns username, displayName, roles, locale); nobody who exists is changed',
  {
    dryRun: flag('--dry-run', 'only say what would be done, line by line'),
    passwords: text('--passwords <file>', 'where the made passwords go, readable by you alone; it must not be there yet'),
    report: text('--report <file>', 'all lines as CSV, for a spreadsheet'),
  },
  async (context, { tenant, file, dryRun, passwords, report }): Promise<ImportReport> => {
    const csv = await readTextFile(file)
    if (!dryRun && passwords === undefined)
      throw problem('USAGE', 'say where the passwords go: --passwords <file>, or look first with --dry-run')
    const result =
      passwords === undefined || dryRun ? await lookOnly(context, tenant, csv) : await doAll(context, { tenant, csv, passwords })
    if (report !== undefined) await writeReport(report, result.lines)
    return result
  },
  importView,
  {
    exit: ({ counts }) => (counts.refused > 0 ? 1 : 0),
    examples: ['import anna-schule users.csv --dry-run', 'import anna-schule users.csv --passwords passwords.csv --report report.csv'],
  },
)

const lookOnly = ({ api }: Context, slug: string, csv: string): Promise<ImportReport> =>
  api.users.importUsers({ params: { slug }, body: { csv, dryRun: true } })

type All = Readonly<{ tenant: string; csv: string; passwords: string }>

/**
 * Passwords are made here and on the disk before the first user is: whatever is lost on the way, each user that was made has one that somebody
 * knows. A chat server takes its time for each, so the daemon is asked again and again from where it stopped.
 */
async function doAll(context: Context, { tenant, csv, passwords: file }: All): Promise<ImportReport> {
  const looked = await lookOnly(context, tenant, csv)
  const fresh = looked.lines.filter(({ outcome }) => outcome === 'would_create')
  if (fresh.length > 0) await assertConfirmed(context.ask, `Make ${plural(fresh.length, 'user')} in ${tenant}?`)
  const passwords = await makePasswords(fresh)
  await createPasswordFile(file, passwords)
  const reports = await inTurns(context, tenant, { csv, passwords }).catch((error) => {
    throw isProblem(error) ? unfinished(error, file) : error
  })
  const report = joined(reports)
  const kept = namesToKeep(reports)
  await replacePasswordFile(file, Object.fromEntries(Object.entries(passwords).filter(([localpart]) => kept.has(localpart))))
  return report
}

/**
 * Whose passwords stay in the file: those that were made; and where a turn broke off, those whose account was there in the next turn. That turn
 * may have made it without hearing so, and then nobody else has its password.
 */
function namesToKeep(reports: readonly ImportReport[]): ReadonlySet<string> {
  const lines = reports.flatMap((report, turn) =>
    report.lines.filter(({ outcome }) => outcome === 'created' || (outcome === 'adopted' && reports[turn - 1]?.stopped)),
  )
  return new Set(lines.map(({ localpart }) => localpart))
}

type Given = Readonly<{ csv: string; passwords: Readonly<Record<string, string>> }>

async function inTurns({ api, progress, clock, signal }: Context, slug: string, given: Given): Promise<ImportReport[]> {
  const telling = await progress(`making users in ${slug}`)
  const reports: ImportReport[] = []
  try {
    let inVain = 0
    for (let fromLine: number | null = 1; fromLine !== null; ) {
      const report: ImportReport = await api.users.importUsers({ params: { slug }, body: { ...given, dryRun: false, fromLine } })
      reports.push(report)
      inVain = report.stopped && report.nextLine === fromLine ? inVain + 1 : 0
      if (inVain >= mostInVain) throw problem('UNAVAILABLE', `line ${fromLine} cannot be done: ${report.stopped}`)
      fromLine = report.nextLine
      if (fromLine !== null) telling.update(`making users in ${slug}: at line ${fromLine}${report.stopped ? `, ${report.stopped}` : ''}`)
      if (report.stopped) await clock.sleep(waitMs, signal)
      signal.throwIfAborted()
    }
    return reports
  } finally {
    telling.stop()
  }
}

const waitMs = 10_000
/** So often a line is tried again that breaks each time: an update of the chat server takes minutes, but not hours. */
const mostInVain = 60

const unfinished = (error: Problem, file: string): Problem =>
  problem(
    error.code,
    `${error.message}; ${file} holds the passwords of those who were made: the same command with another --passwords file makes the rest`,
  )

async function makePasswords(fresh: readonly ImportLine[]): Promise<Record<string, string>> {
  const [{ systemRandom }, { generatePassword }] = await Promise.all([import('../../node/index.ts'), import('../../core/users/index.ts')])
  return Object.fromEntries(fresh.map(({ localpart }) => [localpart, generatePassword(systemRandom)]))
}

const passwordLines = async (passwords: Readonly<Record<string, string>>): Promise<string> => {
  const { csvLines } = await import('../../core/users/index.ts')
  return csvLines([['username', 'password'], ...Object.entries(passwords)])
}

/** Readable by its owner alone; one that is there is not written over: it may hold the only copy of other passwords. */
async function createPasswordFile(file: string, passwords: Readonly<Record<string, string>>): Promise<void> {
  const { open } = await import('node:fs/promises')
  const handle = await open(file, 'wx', 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${file} cannot be made (${code}): give --passwords a file that is not there yet`)
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

/** One report of several turns. A line that was told of twice counts as it was told first: the second time it found its own work. */
function joined(reports: readonly ImportReport[]): ImportReport {
  const lines = new Map<number, ImportLine>()
  for (const line of reports.flatMap((report) => report.lines)) if (!lines.has(line.line)) lines.set(line.line, line)
  const all = [...lines.values()].toSorted((a, b) => a.line - b.line)
  const counts = { ...(reports[0] as ImportReport).counts }
  for (const outcome of Object.keys(counts) as (keyof typeof counts)[])
    counts[outcome] = all.filter((line) => line.outcome === outcome).length
  return { ...(reports.at(-1) as ImportReport), lines: all, counts }
}
