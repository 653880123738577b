import { plural } from '../../core/kit/index.ts'
import type { CreatedUser, ImportLine, ImportReport, ResetPassword, User } from '../../core/users/index.ts'
import { ago, type Column, clean, fields, type Style, sections, stamp, table, tableWithText } from '../kit/index.ts'

const paintStatus = (user: User) => (statusOf(user) === 'active' ? 'green' : 'yellow')

/** One whose password nobody knows cannot log in, whatever else. */
const statusOf = ({ status, passwordUnknownSince }: User): string => (passwordUnknownSince ? `${status}, no password` : status)

const columns = ({ now }: Style): Column<User>[] => [
  { title: 'USER', value: ({ localpart }) => clean(localpart), priority: 1, minWidth: 12 },
  { title: 'NAME', value: ({ displayName }) => displayName && clean(displayName), priority: 2, minWidth: 10 },
  { title: 'ROLES', value: ({ roles }) => roles.join(', '), priority: 1, minWidth: 10 },
  { title: 'STATUS', value: statusOf, priority: 1, paint: paintStatus },
  { title: 'LOCALE', value: ({ locale }) => locale, priority: 4 },
  { title: 'SINCE', value: ({ createdAt }) => ago(createdAt, now), priority: 3 },
]

type Page = Readonly<{ users: readonly User[]; nextCursor: string | null }>

export const userList = ({ users, nextCursor }: Page, style: Style): string =>
  users.length === 0
    ? 'No user fits. `tenantry users create` makes one; whoever logs in to the chat becomes one too'
    : sections(table(style, columns(style), users), nextCursor ? `More: the same command with --cursor ${clean(nextCursor)}` : '')

export const userView = (user: User, style: Style): string =>
  fields(style, [
    ['user', style.paint.bold(clean(user.matrixUserId))],
    ['name', user.displayName && clean(user.displayName)],
    ['roles', user.roles.join(', ')],
    ['status', user.status],
    [
      'password',
      user.passwordUnknownSince &&
        `known to nobody since a restore (${stamp(user.passwordUnknownSince, style.now)}): \`tenantry users reset-password ${user.tenant} ${clean(user.localpart)}\` gives a new one`,
    ],
    ['locale', user.locale],
    ['avatar', user.avatarUrl && clean(user.avatarUrl)],
    ['since', stamp(user.createdAt, style.now)],
    ['changed', stamp(user.updatedAt, style.now)],
    ['id', user.id],
  ])

const shownOnce = (password: string | null, { paint }: Style): string =>
  password === null ? '' : `Password, shown only now: ${paint.bold(clean(password))}`

export const createdView = ({ user, chat, password }: CreatedUser, style: Style): string =>
  sections(
    userView(user, style),
    chat === 'existed' ? 'The chat server had the account already: its password stays what it was.' : '',
    shownOnce(password, style),
  )

export const resetView = ({ user, chat, password }: ResetPassword, style: Style): string =>
  sections(
    `${clean(user.matrixUserId)} has a new password; its platform sessions have ended.`,
    chat === 'created' ? 'The chat server did not have the account: it was made.' : '',
    user.status === 'disabled'
      ? `It is disabled all the same: tenantry users enable ${user.tenant} ${clean(user.localpart)} lets it in.`
      : '',
    shownOnce(password, style),
  )

const outcomeWord = (outcome: string): string => (outcome === 'would_create' ? 'would be created' : outcome)

const importReason: Column<ImportLine> = { title: 'WHY', value: ({ reason }) => reason && clean(reason), priority: 1 }
const importColumns: Column<ImportLine>[] = [
  { title: 'LINE', value: ({ line }) => line, priority: 1 },
  { title: 'USER', value: ({ localpart }) => clean(localpart), priority: 1, minWidth: 12 },
  { title: 'OUTCOME', value: ({ outcome }) => outcomeWord(outcome), priority: 1 },
  importReason,
]

const shownLines = 50

/** What a person has to look at comes first; what went well is a number. */
export function importView(report: ImportReport, style: Style): string {
  const { lines, counts, dryRun } = report
  const wanting = lines.filter(({ outcome }) => outcome === 'refused' || outcome === 'adopted')
  const said = Object.entries(counts).filter(([, count]) => count > 0)
  return sections(
    wanting.length > 0 ? tableWithText(style, importColumns, importReason, wanting.slice(0, shownLines)) : '',
    wanting.length > shownLines ? `and ${plural(wanting.length - shownLines, 'line')} more: --report <file> has them all` : '',
    `${plural(lines.length, 'line')}: ${said.map(([outcome, count]) => `${count} ${outcomeWord(outcome)}`).join(', ') || 'nothing to do'}`,
    dryRun ? 'Nothing was changed. The same command without --dry-run does it.' : '',
  )
}
