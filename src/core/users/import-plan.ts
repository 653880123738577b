import { printable } from '../kit/index.ts'
import type { ImportLine } from './import-contract.ts'
import { canonicalLocalpart, isReserved, Localpart } from './localpart.ts'
import { type RoleBook, unknownRoles } from './role-book.ts'
import { DisplayName, Locale, Roles } from './user.ts'

/** A row of the file by the names in its head, with the line it begins on. */
export type ImportRow = Readonly<{ line: number; cells: Readonly<Record<string, string>> }>

/** Somebody whom the file asks for, with all that is known of it checked. */
export type PlannedUser = Readonly<{
  line: number
  localpart: string
  displayName: string | null
  locale: string | null
  roles: readonly string[]
}>

export type ImportPlan = Readonly<{ planned: readonly PlannedUser[]; refused: readonly ImportLine[] }>

const importColumns = ['username', 'displayName', 'roles', 'locale'] as const
type ImportColumn = (typeof importColumns)[number]

/** What is wrong with the head of a file; undefined when it can be read. */
export function wrongHead(head: readonly string[]): string | undefined {
  const unknown = head.filter((name) => !importColumns.includes(name as ImportColumn))
  if (unknown.length > 0)
    return `the head names ${unknown.map((name) => `"${shown(name)}"`).join(', ')}: columns are ${importColumns.join(', ')}`
  if (new Set(head).size < head.length) return 'the head names a column twice'
  return head.includes('username') ? undefined : 'the head must name the column username'
}

/** Decides line by line, without looking at who exists. The first of two lines for one user counts. */
export function planImport(book: RoleBook, rows: readonly ImportRow[]): ImportPlan {
  const planned: PlannedUser[] = []
  const refused: ImportLine[] = []
  const seen = new Map<string, number>()
  for (const row of rows) {
    const result = planRow(book, row, seen)
    if (typeof result === 'string')
      refused.push({ line: row.line, localpart: shown(row.cells.username ?? ''), outcome: 'refused', reason: result })
    else planned.push(result)
  }
  return { planned, refused }
}

function planRow(book: RoleBook, { line, cells }: ImportRow, seen: Map<string, number>): PlannedUser | string {
  const localpart = canonicalLocalpart(cells.username ?? '')
  const name = Localpart.safeParse(localpart)
  if (!name.success) return `username ${name.error.issues[0]?.message}`
  if (isReserved(localpart)) return 'username is reserved'
  const earlier = seen.get(localpart)
  if (earlier !== undefined) return `username is on line ${earlier} already`
  const displayName = optional(DisplayName, cells.displayName, 'displayName')
  const locale = optional(Locale, cells.locale, 'locale')
  const roles = rolesIn(book, cells.roles ?? '')
  const wrong = [displayName, locale, roles].find((part) => 'wrong' in part)
  if (wrong && 'wrong' in wrong) return wrong.wrong
  seen.set(localpart, line)
  return { line, localpart, displayName: said(displayName), locale: said(locale), roles: said(roles) ?? [book.defaultRole] }
}

type Read<Value> = Readonly<{ value: Value | null }> | Readonly<{ wrong: string }>
const said = <Value>(read: Read<Value>): Value | null => ('value' in read ? read.value : null)

function optional(schema: typeof DisplayName | typeof Locale, cell: string | undefined, column: ImportColumn): Read<string> {
  const text = (cell ?? '').trim()
  if (text === '') return { value: null }
  const result = schema.safeParse(text)
  return result.success ? { value: result.data } : { wrong: `${column} ${result.error.issues[0]?.message}` }
}

/** Names with spaces, commas or semicolons between them; none means the default role. */
function rolesIn(book: RoleBook, cell: string): Read<readonly string[]> {
  const names = cell.split(/[\s,;|]+/).filter(Boolean)
  if (names.length === 0) return { value: null }
  const unknown = unknownRoles(book, names)
  if (unknown.length > 0) return { wrong: `roles: there is no role ${unknown.map(shown).join(', ')}` }
  const result = Roles.safeParse(names)
  return result.success ? { value: result.data } : { wrong: `roles ${result.error.issues[0]?.message}` }
}

const shown = (text: string): string => printable(text.replace(/\s+/g, ' ')).slice(0, 100)
