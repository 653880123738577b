import { plural } from '../../core/kit/index.ts'
import type { CreatedUser, ImportLine, ImportReport, ResetPassword, User } from '../../core/users/index.ts'
import { ago, type Column, clean, fields, type Style, sections, stamp, table, tableWithText } from '../kit/index.ts'
import { sampleNames } from './read-users-file.ts'

const paintStatus = (user: User) => (statusOf(user) === 'active' ? 'green' : 'yellow')

/** A user without a known password cannot log in, whatever the status. */
const statusOf = ({ status, passwordUnknownSince }: User): string => (passwordUnknownSince ? `${status}, no password` : status)

const columns = ({ now }: Style): Column<User>[] => [
  { title: 'USER', value: ({ localpart }) => clean(localpart), priority: 1, minWidth: 12 },
  { title: 'NAME', value: ({ displayName }) => displayName && clean(displayName), priority: 2, minWidth: 10 },
  { title: 'ROLES', value: ({ roles }) => roles.join(', '), priority: 1, minWidth: 10 },
  { title: 'STATUS', value: statusOf, priority: 1, paint: paintStatus },
  { title: 'LOCALE', value: ({ locale }) => locale, priority: 4 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 3 },
]

type Page = Readonly<{ users: readonly User[]; nextCursor: string | null }>

export function userList({ users, nextCursor }: Page, style: Style, filters: Readonly<Record<string, unknown>>): string {
  if (users.length > 0) return sections(table(style, columns(style), users), nextCursor ? `Next page: --cursor ${clean(nextCursor)}` : '')
  const { tenant, ...others } = filters
  return Object.values(others).some((value) => value !== undefined && value !== false)
    ? `No users match. All users: tenantry users list ${tenant}`
    : 'No users. Create one: `tenantry users create`. A first login to the chat creates one too.'
}

export const userView = (user: User, style: Style): string =>
  fields(style, [
    ['user', style.paint.bold(clean(user.matrixUserId))],
    ['name', user.displayName && clean(user.displayName)],
    ['roles', user.roles.join(', ')],
    ['status', user.status],
    [
      'password',
      user.passwordUnknownSince &&
        `lost in a restore (${stamp(user.passwordUnknownSince, style.now)}). fix: \`tenantry users reset-password ${user.tenant} ${clean(user.localpart)}\``,
    ],
    ['locale', user.locale],
    ['mail', user.email && clean(user.email)],
    ['avatar', user.avatarUrl && clean(user.avatarUrl)],
    ['created', stamp(user.createdAt, style.now)],
    ['updated', stamp(user.updatedAt, style.now)],
    ['id', user.id, 'detail'],
  ])

const shownOnce = (password: string | null, { paint }: Style): string =>
  password === null
    ? ''
    : `Password: ${paint.bold(clean(password))}
Save it now, it is not shown again.`

export const createdView = ({ user, chat, password }: CreatedUser, style: Style): string =>
  sections(
    userView(user, style),
    chat === 'existed' ? 'The account already exists on the chat server; its password is unchanged.' : '',
    shownOnce(password, style),
  )

export const resetView = ({ user, chat, password }: ResetPassword, style: Style): string =>
  sections(
    `Password of ${clean(user.matrixUserId)} reset; its platform sessions ended.`,
    chat === 'created' ? 'The account did not exist on the chat server and was created.' : '',
    user.status === 'disabled'
      ? `The user is still disabled. Enable it: tenantry users enable ${user.tenant} ${clean(user.localpart)}`
      : '',
    shownOnce(password, style),
  )

/** Shown before the question. */
export const erasureView = (tenant: string, user: string, { paint }: Style): string =>
  sections(
    paint.bold(`Erase ${clean(user)} of ${clean(tenant)} for good:`),
    [
      'Sessions end now. The chat account and its profile are deactivated and cannot be restored.',
      'Unfinished runs of the user are cancelled; form values and signatures of its runs are deleted.',
      'Approvals, histories and tasks remain and name an erased user. Files remain in their spaces.',
    ].join('\n'),
  )

export const erasedView = ({ matrixUserId, tenant, localpart }: User, _: Style): string =>
  sections(
    `${clean(matrixUserId)} erased; its sessions ended.`,
    `Its data and chat account are removed by jobs (\`tenantry jobs list\`). To run them again: \`tenantry users erase ${tenant} ${clean(localpart)}\``,
  )

const outcomeWord = (outcome: string): string =>
  outcome.replace('would_create', 'would be created').replace('would_update', 'would be updated')

const importReason: Column<ImportLine> = { title: 'REASON', value: ({ reason }) => reason && clean(reason), priority: 1 }
const importColumns: Column<ImportLine>[] = [
  { title: 'LINE', value: ({ line }) => line, priority: 1 },
  { title: 'USER', value: ({ localpart }) => clean(localpart), priority: 1, minWidth: 12 },
  { title: 'OUTCOME', value: ({ outcome }) => outcomeWord(outcome), priority: 1 },
  importReason,
]

const shownLines = 50

const shownInFull: readonly ImportLine['outcome'][] = ['refused', 'erased', 'disabled', 'adopted', 'would_update', 'updated']

/** How the file was read, with names by which a person sees whether it was read right. */
export function readingView({ lines, notes }: ImportReport, encoding: string): string {
  const names = sampleNames(lines.map(({ displayName }) => displayName)).map(clean)
  return [`Read as ${encoding}${names.length > 0 ? `. Names: ${names.join('; ')}` : ''}`, ...notes.map(clean)].join('\n')
}

/** Lines that need attention in full; all others as counts. */
export function importView(report: ImportReport, style: Style): string {
  const { lines, counts, dryRun } = report
  const flagged = lines.filter(({ outcome }) => shownInFull.includes(outcome))
  const otherNames = lines.filter(({ outcome, reason }) => outcome === 'existed' && reason !== null).length
  const totals = Object.entries(counts).filter(([, count]) => count > 0)
  return sections(
    flagged.length > 0 ? tableWithText(style, { columns: importColumns, text: importReason }, flagged.slice(0, shownLines)) : '',
    flagged.length > shownLines ? `and ${plural(flagged.length - shownLines, 'line')} more; write all with --report <file>` : '',
    `${plural(lines.length, 'line')}: ${totals.map(([outcome, count]) => `${count} ${outcomeWord(outcome)}`).join(', ') || 'no changes'}`,
    otherNames > 0 ? `${plural(otherNames, 'user')} of another name than in the file. fix: pass --update names` : '',
    dryRun ? 'Dry run: nothing was changed.' : '',
  )
}
