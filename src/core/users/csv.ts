import { z } from 'zod'
import { printable } from '../kit/index.ts'
import { foldName } from './fold-name.ts'
import { type RoleBook, unknownRoles } from './role-book.ts'
import { canonicalLocalpart, DisplayName, isReserved, Locale, Localpart, NewPassword, Roles, UserEmail } from './user.ts'

/** Limits of one import file. */
export const importLimits = { bytes: 5_000_000, lines: 10_000 } as const

const bytes = (text: string) => new TextEncoder().encode(text).length

export const ImportBody = z.strictObject({
  csv: z
    .string()
    .max(importLimits.bytes, 'must be at most 5 MB')
    .refine((text) => bytes(text) <= importLimits.bytes, 'must be at most 5 MB'),
  dryRun: z.boolean(),
  /** The first line to import: `nextLine` of the previous call. */
  fromLine: z.int().min(1).max(2_000_000).default(1),
  /** By localpart; the others get a generated password that is returned once. */
  passwords: z.record(Localpart, NewPassword).optional(),
  /** `names`: existing users get the display name of the file, where it names one. */
  update: z
    .array(z.enum(['names']))
    .max(1)
    .default([]),
  emails: z.boolean().default(false).meta({ description: 'Store the column of mail addresses as the addresses of the new users' }),
  ignoreColumns: z.boolean().default(false).meta({ description: 'Ignore columns that an import does not use; otherwise they are refused' }),
})

/**
 * `would_create`, `would_update`: dry run only. `updated`: the name was corrected. `existed`: the user existed and is unchanged. `adopted`: only the
 * chat account existed, and keeps its password. `disabled`, `erased`: the user of that name cannot log in, and is unchanged. `refused`: see `reason`.
 */
export const ImportOutcome = z.enum([
  'created',
  'would_create',
  'updated',
  'would_update',
  'adopted',
  'existed',
  'disabled',
  'erased',
  'refused',
])
export type ImportOutcome = z.infer<typeof ImportOutcome>

export const ImportLine = z.object({
  line: z.int().meta({ description: 'Line in the file; the header is line 1' }),
  localpart: z.string(),
  displayName: z.string().nullable().meta({ description: 'As in the file' }),
  outcome: ImportOutcome,
  reason: z.string().nullable(),
})
export type ImportLine = z.infer<typeof ImportLine>

export const ImportReport = z.object({
  dryRun: z.boolean(),
  lines: z.array(ImportLine),
  counts: z.record(ImportOutcome, z.int()),
  notes: z.array(z.string()).meta({ description: 'How columns of the file were read' }),
  /** Generated passwords by localpart; returned only once. */
  passwords: z.record(z.string(), z.string()),
  /** The first line that was not processed; null when all were. */
  nextLine: z.int().nullable(),
  /** The error that stopped the import; null when it finished or ran out of time. */
  stopped: z.string().nullable(),
})
export type ImportReport = z.infer<typeof ImportReport>

export const countOutcomes = (lines: readonly ImportLine[]): ImportReport['counts'] => {
  const counts = Object.fromEntries(ImportOutcome.options.map((outcome) => [outcome, 0])) as ImportReport['counts']
  for (const { outcome } of lines) counts[outcome]++
  return counts
}

/** A row of the file: cells by column name, and the line on which it begins. */
export type ImportRow = Readonly<{ line: number; cells: Readonly<Record<string, string>> }>

/** A user from the file whose fields are all valid. */
export type PlannedUser = Readonly<{
  line: number
  localpart: string
  displayName: string | null
  locale: string | null
  roles: readonly string[]
  email: string | null
}>

type ImportPlan = Readonly<{ planned: readonly PlannedUser[]; refused: readonly ImportLine[] }>

/** Validates line by line, without reading existing users. Of two lines with the same user the first counts. */
export function planImport(book: RoleBook, rows: readonly ImportRow[]): ImportPlan {
  const planned: PlannedUser[] = []
  const refused: ImportLine[] = []
  const seen = new Map<string, number>()
  for (const row of rows) {
    const result = planRow(book, row, seen)
    if (typeof result === 'string')
      refused.push({ line: row.line, localpart: excerpt(row.cells.username ?? ''), displayName: null, outcome: 'refused', reason: result })
    else planned.push(result)
  }
  return { planned, refused }
}

function planRow(book: RoleBook, { line, cells }: ImportRow, seen: Map<string, number>): PlannedUser | string {
  const localpart = canonicalLocalpart(cells.username ?? '')
  if (localpart.includes('@')) return 'username is a mail address. fix: keep the part before the @'
  const name = Localpart.safeParse(localpart)
  if (!name.success) return `username ${name.error.issues[0]?.message}${suggestionFor(localpart)}`
  if (isReserved(localpart)) return 'username is reserved'
  const earlier = seen.get(localpart)
  if (earlier !== undefined) return `username is on line ${earlier} already`
  const displayName = optional(DisplayName, cells.displayName, 'displayName')
  const locale = optional(Locale, cells.locale, 'locale')
  const roles = rolesIn(book, cells.roles ?? '')
  const email = optional(UserEmail, cells.email, 'email')
  const wrong = [displayName, locale, roles, email].find((part) => 'wrong' in part)
  if (wrong && 'wrong' in wrong) return wrong.wrong
  seen.set(localpart, line)
  return {
    line,
    localpart,
    displayName: valueIn(displayName),
    locale: valueIn(locale),
    roles: valueIn(roles) ?? [book.defaultRole],
    email: valueIn(email),
  }
}

const germanLetters: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss' }

/** A valid username like an invalid one: `jörg müller` becomes `joerg.mueller`. */
function suggestionFor(localpart: string): string {
  const spelled = localpart.normalize('NFC').replace(/[äöüß]/g, (letter) => germanLetters[letter] ?? '')
  const name = foldName(spelled)
    .trim()
    .replace(/\s+/g, '.')
    .replace(/[^a-z0-9._=/+-]|^_+/g, '')
  return name !== localpart && Localpart.safeParse(name).success ? `. fix: write it as ${name}` : ''
}

type Read<Value> = Readonly<{ value: Value | null }> | Readonly<{ wrong: string }>
const valueIn = <Value>(read: Read<Value>): Value | null => ('value' in read ? read.value : null)

function optional(schema: typeof DisplayName | typeof Locale | typeof UserEmail, cell: string | undefined, column: string): Read<string> {
  const text = (cell ?? '').trim()
  if (text === '') return { value: null }
  const result = schema.safeParse(text)
  return result.success ? { value: result.data } : { wrong: `${column} ${result.error.issues[0]?.message}` }
}

/** Role names separated by spaces, commas or semicolons; an empty cell means the default role. */
function rolesIn(book: RoleBook, cell: string): Read<readonly string[]> {
  const names = cell.split(/[\s,;|]+/).filter(Boolean)
  if (names.length === 0) return { value: null }
  const unknown = unknownRoles(book, names)
  if (unknown.length > 0) return { wrong: `roles: there is no role ${unknown.map(excerpt).join(', ')}` }
  const result = Roles.safeParse(names)
  return result.success ? { value: result.data } : { wrong: `roles ${result.error.issues[0]?.message}` }
}

const excerpt = (text: string): string => printable(text.replace(/\s+/g, ' ')).slice(0, 100)
